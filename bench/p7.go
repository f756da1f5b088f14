package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/sandbox/docker"
	"moeca/internal/sandbox/image"
	"moeca/internal/sandbox/native"
)

func (b *bench) images() *image.Store {
	return image.New(image.Options{Dir: filepath.Join(b.dir, "images"), AgentBinary: filepath.Join(b.bin, "moeca-agent")})
}

// sandboxes starts sandboxes of one driver.
type sandboxes struct {
	b      *bench
	driver sandbox.Driver
	image  sandbox.Image
	policy sandbox.Policy
	n      int
	warm   sample
}

func (b *bench) sandboxes(ctx context.Context, d sandbox.Driver) (*sandboxes, error) {
	if err := d.Usable(ctx); err != nil {
		return nil, err
	}
	policy, err := sandbox.PolicyByName(sandbox.Base)
	if err != nil {
		return nil, err
	}
	img, err := d.Ensure(ctx, policy)
	if err != nil {
		return nil, err
	}
	return &sandboxes{b: b, driver: d, image: img, policy: policy}, nil
}

// start takes a sandbox from nothing to its ready line, hands it an order, and
// removes it. Only the way to the ready line is in the returned time; the way
// from release to the started line is kept in warm.
func (s *sandboxes) start(ctx context.Context) (time.Duration, error) {
	s.n++
	spec, err := s.spec()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	box, err := s.driver.Prepare(ctx, spec)
	if err != nil {
		return 0, err
	}
	defer box.Remove(context.WithoutCancel(ctx))
	channel, err := box.Attach(ctx)
	if err != nil {
		return 0, err
	}
	if err := box.Start(ctx); err != nil {
		return 0, err
	}
	lines := bufio.NewReader(channel.Stdout)
	if _, err := lines.ReadString('\n'); err != nil {
		return 0, fmt.Errorf("no ready line: %w", err)
	}
	cold := time.Since(began)
	var order bytes.Buffer
	if err := handoff.EncodeOrder(&order, handoff.WorkOrder{
		Version: 1, Run: "bench", Stage: "bench", Kind: "command", SocketDir: sandbox.SocketPath, Tree: sandbox.TreePath,
		Command: &handoff.Command{Argv: []string{"/nonexistent"}, TimeoutSeconds: 5},
	}); err != nil {
		return 0, err
	}
	released := time.Now()
	if err := box.Release(ctx, order.Bytes()); err != nil {
		return 0, err
	}
	if _, err := lines.ReadString('\n'); err != nil {
		return 0, fmt.Errorf("no started line: %w", err)
	}
	s.warm = append(s.warm, time.Since(released))
	if err := box.Stop(ctx, 0); err != nil {
		return 0, err
	}
	_, err = box.Wait(ctx)
	return cold, err
}

func (s *sandboxes) spec() (sandbox.Spec, error) {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = sandbox.UserUID, sandbox.UserGID
	}
	tree := filepath.Join(s.b.dir, fmt.Sprintf("tree-%s-%d", s.driver.Name(), s.n))
	if err := os.Mkdir(tree, 0o755); err != nil {
		return sandbox.Spec{}, err
	}
	if err := os.Chown(tree, uid, gid); err != nil {
		return sandbox.Spec{}, err
	}
	return sandbox.NewSpec(sandbox.SpecInput{
		ID: fmt.Sprintf("bench-%d", s.n), Owner: "bench", Run: "bench", Stage: "bench",
		Image: s.image, Policy: s.policy, UID: uid, GID: gid, TreeDir: tree, Timeout: time.Minute,
	})
}

// measure interleaves cold starts with a peer.
func (s *sandboxes) measure(ctx context.Context, n int, peer func() (time.Duration, error)) (cold, other sample, err error) {
	for i := range n + 1 {
		d, err := s.start(ctx)
		if err != nil {
			return nil, nil, err
		}
		p, err := peer()
		if err != nil {
			return nil, nil, err
		}
		if i > 0 {
			cold, other = append(cold, d), append(other, p)
		}
	}
	return cold, other, nil
}

func (b *bench) nativeStart(ctx context.Context) ([]row, error) {
	d := native.New(native.Options{Images: b.images(), StateDir: filepath.Join(b.dir, "native")})
	s, err := b.sandboxes(ctx, d)
	if err != nil {
		return nil, err
	}
	cold, raw, err := s.measure(ctx, 3*b.windows, rawClone)
	if err != nil {
		return nil, err
	}
	return []row{
		compare("P7", "cold_start_native", cold, "clone with the same namespaces and exec of a static program", raw, "asked for → ready line, specification read back"),
		compare("P7", "warm_release_native", s.warm, "", nil, "work order released → parsed inside"),
	}, nil
}

// rawClone is the floor: the kernel's own work for a process in namespaces.
func rawClone() (time.Duration, error) {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
			syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return timed(cmd.Run)
}

func (b *bench) dockerStart(ctx context.Context) ([]row, error) {
	d, err := docker.New(docker.Options{Images: b.images()})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	s, err := b.sandboxes(ctx, d)
	if err != nil {
		return nil, err
	}
	api, err := client.New(client.FromEnv)
	if err != nil {
		return nil, err
	}
	defer api.Close()
	cold, raw, err := s.measure(ctx, b.windows, func() (time.Duration, error) { return bareEngine(ctx, api, s.image.Ref) })
	if err != nil {
		return nil, err
	}
	return []row{
		compare("P7", "cold_start_docker", cold, "bare engine: create and start of the same image, no network, to its first line", raw, "asked for → ready line, specification read back"),
		compare("P7", "warm_release_docker", s.warm, "", nil, "work order released → parsed inside"),
	}, nil
}

// bareEngine creates and starts the same image with no option of ours but the
// network, and waits for the same line.
func bareEngine(ctx context.Context, api *client.Client, ref string) (time.Duration, error) {
	began := time.Now()
	created, err := api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: ref, OpenStdin: true, AttachStdin: true, AttachStdout: true, Cmd: []string{}},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	if err != nil {
		return 0, err
	}
	defer api.ContainerRemove(context.WithoutCancel(ctx), created.ID, client.ContainerRemoveOptions{Force: true})
	attached, err := api.ContainerAttach(ctx, created.ID, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true})
	if err != nil {
		return 0, err
	}
	defer attached.Close()
	if _, err := api.ContainerStart(ctx, created.ID, client.ContainerStartOptions{}); err != nil {
		return 0, err
	}
	if _, err := attached.Reader.ReadString('\n'); err != nil {
		return 0, fmt.Errorf("bare engine: no line: %w", err)
	}
	return time.Since(began), nil
}
