package main

import (
	"bytes"
	"testing"
)

func TestTablesPrintCellsOfOthersSafely(t *testing.T) {
	var out bytes.Buffer
	e := &env{cli: &cli{}, stdout: &out}
	models := func(m string) []string { return []string{"ollama", m} }
	if err := printTable(e, []string{"\x1b[2Jm\n"}, "", []string{"SERVER", "MODELS"}, models); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "SERVER  MODELS\nollama  \\u{1b}[2Jm\\u{a}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	if err := printTable(e, nil, "nothing", []string{"SERVER", "MODELS"}, models); err != nil || out.String() != "nothing\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
