package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestGateFailsWhenTheFilesDisagree(t *testing.T) {
	const csv, md = "name,symbol,metres\nmetre,m,1\n", "| unit | symbol | length |\n|---|---|---|\n| metre | m | 1 m |\n"
	cases := map[string]struct {
		csv, md string
		want    int
	}{
		"they agree":                 {csv, md, 0},
		"a unit only in the table":   {csv + "mile,mi,1609.344\n", md, 1},
		"a unit only on the page":    {csv, md + "| mile | mi | 1609.344 m |\n", 1},
		"another factor":             {csv, "| metre | m | 2 m |\n", 1},
		"another symbol":             {csv, "| metre | M | 1 m |\n", 1},
		"a unit twice":               {csv + "metre,m,1\n", md, 2},
		"a factor that is no number": {csv + "mile,mi,long\n", md, 2},
		"a missing field":            {csv + "mile\n", md, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "units.csv"), c.csv)
			write(t, filepath.Join(dir, "docs", "units.md"), c.md)
			if got := check(dir, io.Discard); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}

func TestGateSaysThatAFileIsMissing(t *testing.T) {
	if got := check(t.TempDir(), io.Discard); got != 2 {
		t.Errorf("exit code %d, want 2", got)
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
