package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command line's specification: one txtar file per story.
// Conditions: [docker] and [native] are true where the driver can be used,
// [root] for the superuser.
func TestScripts(t *testing.T) {
	programs := bin(t)
	needDriver(t, "native")
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			short, err := os.MkdirTemp("/tmp", "mo")
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(short) })
			env.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("MOECA_DATA", filepath.Join(env.WorkDir, "data"))
			env.Setenv("MOECA_RUNTIME", filepath.Join(short, "r"))
			env.Setenv("MOECA_DRIVER", "native")
			env.Setenv("MOECA_NO_KEYCHAIN", "1")
			env.Setenv("MOECA_CACHE", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				env.Setenv("GIT_"+who+"_NAME", "Test")
				env.Setenv("GIT_"+who+"_EMAIL", "test@example.org")
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"takeport": takePort,
			"jsonhas":  jsonHas,
			"jsonset":  jsonSet,
			"waitfile": waitFile,
		},
	})
}

// takePort listens on a loopback port until the script ends and puts its
// address into a variable.
func takePort(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: takeport VARIABLE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

// waitFile waits until a file is there.
func waitFile(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(60 * time.Second)
	for {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not appear", args[0])
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// jsonHas checks a field of the last standard output with the command's own
// words: jsonhas FIELD VALUE, FIELD as a.b.c.
func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jsonhas FIELD VALUE")
	}
	got := gjsonString(ts.ReadFile("stdout"), args[0])
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %q", args[0], got)
	}
}

// jsonSet puts a field of the last standard output into a variable:
// jsonset VARIABLE FIELD.
func jsonSet(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jsonset VARIABLE FIELD")
	}
	ts.Setenv(args[0], gjsonString(ts.ReadFile("stdout"), args[1]))
}

// TestDemo runs the demo on both drivers with JSON output.
func TestDemo(t *testing.T) {
	for _, driver := range []string{"native", "docker"} {
		t.Run(driver, func(t *testing.T) {
			needDriver(t, driver)
			keep := filepath.Join(shortDir(t), "kept")
			cmd := command(t, shortDir(t), "demo", "--json", "--driver", driver, "--keep", keep)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("demo: %v\n%s\n%s", err, out, stderrOf(err))
			}
			text := string(out)
			for field, want := range map[string]string{
				"driver": driver, "merged": "true", "audit.ok": "true", "files_changed": "2", "ci.status": "passed", "scripted": "true",
			} {
				if got := gjsonString(text, field); got != want {
					t.Errorf("%s is %q, want %q", field, got, want)
				}
			}
			repo := filepath.Join(keep, "units")
			if got := git(t, repo, "show", "main:units.csv"); !containsLine(got, "nautical mile,nmi,1852") {
				t.Errorf("main does not hold the change:\n%s", got)
			}
			verify := exec.Command(filepath.Join(bin(t), "moeca-verify"), filepath.Join(keep, "data", "audit"))
			if out, err := verify.CombinedOutput(); err != nil {
				t.Errorf("moeca-verify: %v\n%s", err, out)
			}
		})
	}
}
