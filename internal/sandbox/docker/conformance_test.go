package docker_test

import (
	"testing"

	"moeca/internal/sandbox/docker"
	"moeca/internal/sandbox/image"
	"moeca/internal/sandbox/sandboxtest"
	"moeca/internal/testreq"
)

func TestDriverConformance(t *testing.T) {
	agent := sandboxtest.BuildAgent(t)
	d, err := docker.New(docker.Options{Images: image.New(image.Options{Dir: t.TempDir(), AgentBinary: agent})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	testreq.Need(t, "docker", d.Usable(t.Context()))
	sandboxtest.TestDriver(t, d, sandboxtest.NewEnv(t))
}
