package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/demo"
	"moeca/internal/testreq"
)

// TestJobInABrowser performs the whole job by clicking, in Chromium, against
// the real host. The clicks are in ui/e2e.
func TestJobInABrowser(t *testing.T) {
	needDriver(t, "native")
	chromium, err := findChromium()
	testreq.Need(t, "chromium", err)
	_, err = exec.LookPath("node")
	testreq.Need(t, "node", err)
	dir := shortDir(t)
	repo := filepath.Join(dir, "units")
	if err := demo.CreateRepository(t.Context(), repo, filepath.Join(bin(t), "moeca-demo-check")); err != nil {
		t.Fatal(err)
	}
	before := checkoutState(t, repo)
	s := serve(t, dir, "native")

	cmd := exec.Command("npm", "run", "--silent", "e2e")
	cmd.Dir = filepath.Join("..", "ui")
	cmd.Env = append(os.Environ(),
		"MOECA_URL="+s.launchURL(), "MOECA_REPO="+repo, "MOECA_CHROMIUM="+chromium,
		"MOECA_CI="+strings.Join(demo.Gate().Argv, " "), "MOECA_CI_POLICY="+demo.Gate().Policy,
		"MOECA_SCREENSHOTS="+screenshots(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\nhost:\n%s", err, out, s.stderr.String())
	}
	t.Logf("%s", out)
	mustVerify(t, s)
	if subjects := git(t, repo, "log", "--format=%s", "main"); !strings.Contains(subjects, "\n") {
		t.Errorf("main did not move:\n%s", subjects)
	}
	if after := checkoutState(t, repo); after != before {
		t.Errorf("the user's checkout changed:\n%s\n→\n%s", before, after)
	}
}

// launchURL makes a new single-use URL the way `moeca open` does.
func (s *server) launchURL() string {
	s.t.Helper()
	var out struct {
		Launch string `json:"launch_token"`
	}
	s.call("POST", "/api/auth/launch", nil, &out)
	return s.base + "/#launch=" + out.Launch
}

// screenshots is where pictures go: a directory of the caller's, so that
// somebody can look at them, or one that is thrown away.
func screenshots(t *testing.T) string {
	if dir := os.Getenv("MOECA_SCREENSHOTS"); dir != "" {
		return dir
	}
	return t.TempDir()
}

func findChromium() (string, error) {
	var err error
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		var path string
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}
