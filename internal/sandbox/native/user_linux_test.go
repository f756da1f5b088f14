package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"moeca/internal/sandbox/sandboxtest"
)

// normalUID is nobody in particular: any uid but 0 will do.
const normalUID = 54321

// TestConformanceAsNormalUser runs the whole suite again without root, where
// the user namespace has a single uid and cgroups are not writable.
func TestConformanceAsNormalUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestConformance runs as a normal user already")
	}
	prebuilt, tmp := sandboxtest.TempDir(t), sandboxtest.TempDir(t)
	for name, from := range map[string]string{"moeca-agent": sandboxtest.BuildAgent(t), "probe": sandboxtest.NewEnv(t).Probe} {
		if err := os.Rename(from, filepath.Join(prebuilt, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(tmp, normalUID, normalUID); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestConformance$", "-test.v")
	cmd.Dir = tmp
	cmd.Env = []string{
		"TMPDIR=" + tmp, sandboxtest.PrebuiltEnv + "=" + prebuilt, "PATH=" + os.Getenv("PATH"),
		"MOECA_REQUIRE=" + os.Getenv("MOECA_REQUIRE"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: normalUID, Gid: normalUID}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
