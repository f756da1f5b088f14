package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/audit"
)

// brokenData is a data directory whose log is broken at row 7 of 9.
func brokenData(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	dir := filepath.Join(data, "audit")
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := audit.Attribution{Session: "s", Run: "00000000000000aa", Stage: "st", Task: "00000000000000bb", Agent: "a"}
	for range 3 {
		r := audit.Record{Kind: audit.KindIntent, Actor: audit.ActorAgent, Upstream: "demo", Method: "POST", Target: "http://demo.unix/v1/messages", Attribution: at}
		p, err := log.Queue(r, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Kind, r.Ref, r.Result, r.Status = audit.KindOutcome, p.Seq(), audit.ResultOK, 200
		if p, err = log.Queue(r, nil, nil); err == nil {
			err = p.Wait(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "seg-000001.log")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-200] ^= 1
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEveryAnswerAboutABrokenLogSaysSo: rows before the damage look like a whole
// log, and their sums like all sums.
func TestEveryAnswerAboutABrokenLogSaysSo(t *testing.T) {
	data := brokenData(t)
	for _, args := range []string{
		"log", "log --granularity call", "log --granularity context", "log --granularity task", "log --granularity message", "log --text messages",
		"show 2", "tree 00000000000000bb", "metrics", "diff 00000000000000aa 00000000000000aa", "tail", "reindex", "export -o -", "export --format otlp -o -",
	} {
		var stdout, stderr bytes.Buffer
		want := 0
		if strings.HasPrefix(args, "export") {
			want = exitBad
		}
		if code := run(append([]string{"--data", data, "audit"}, strings.Fields(args)...), nil, &stdout, &stderr); code != want {
			t.Errorf("%s: exit %d, %s", args, code, stderr.String())
		}
		if n := strings.Count(stderr.String(), "row 7 is broken"); n != 1 || stdout.Len() == 0 {
			t.Errorf("%s: said %d times: %s%s", args, n, stdout.String(), stderr.String())
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--data", data, "audit", "show", "9"}, nil, &stdout, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "is broken") {
		t.Errorf("a row behind the damage: exit %d, %s", code, stderr.String())
	}
	file := filepath.Join(data, "rows.jsonl")
	if code := run([]string{"--data", data, "--json", "audit", "export", "--rows", "-o", file}, nil, &stdout, &stderr); code != exitBad || !json.Valid(stdout.Bytes()) {
		t.Errorf("exit %d, %s", code, stdout.String())
	}
	raw, err := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if err != nil || !strings.HasPrefix(lines[len(lines)-1], `{"type":"problem"`) {
		t.Errorf("the file ends with %s, %v", lines[len(lines)-1], err)
	}
}

func TestTilesAreOfTheWholeLog(t *testing.T) {
	data := t.TempDir()
	log, err := audit.Open(filepath.Join(data, "audit"), audit.Options{})
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "tiles")
	export := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		code := run(append([]string{"--data", data, "audit", "export", "--format", "tiles", "-o"}, args...), nil, &stdout, &stderr)
		return code, stdout.String() + stderr.String()
	}
	for range 2 {
		if code, said := export(out); code != 0 || !strings.Contains(said, "covers 1 rows") && !strings.Contains(said, "covers 2 rows") {
			t.Errorf("exit %d, %s", code, said)
		}
	}
	for _, name := range []string{"checkpoint", "checkpoint.vkey", "tile/0", "tile/entries"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	for _, args := range [][]string{{"-"}, {out, "--rows"}, {out, "--content"}, {out, "--kind", "admin"}, {out, "--from", "1h"}} {
		if code, said := export(args...); code != exitUsage {
			t.Errorf("%v: exit %d, %s", args, code, said)
		}
	}
	if code, said := export(data); code != exitFailed || !strings.Contains(said, "another directory") {
		t.Errorf("into a directory of something else: exit %d, %s", code, said)
	}
}
