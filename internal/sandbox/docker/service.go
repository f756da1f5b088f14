package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

// Service is one of our own programs in a container of its own, on an ordinary
// network: the gateway zone, so that a broken gateway cannot read the host's
// data. It is hardened like a sandbox but for the network.
type Service struct {
	Name   string // gateway; unique per owner
	Owner  string // data directory
	Binary string // static program, the only file of its image
	Args   []string
	// UID and GID of the process, never 0; Groups are supplementary.
	UID, GID int
	Groups   []int
	// Mounts are directories and files it sees, by their real paths.
	Mounts []sandbox.Mount
	// Ports it listens on, each published on a free port of 127.0.0.1.
	Ports  []uint16
	Labels map[string]string
	// Limits; zero means the default below.
	Memory, PIDs int64
	CPUs         float64
}

// Defaults of a service: a gateway streams and keeps little.
const (
	serviceMemory = 1 << 30
	servicePIDs   = 256
	serviceCPUs   = 2.0
	serviceTmp    = 64 << 20
)

// RunningService is a started service. It is safe for concurrent use.
type RunningService struct {
	driver    *Driver
	id        string
	name      string
	owner     string
	addresses map[uint16]netip.AddrPort
}

var serviceName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// StartService starts s, after removing what an earlier life of this owner left
// of it. It returns when the process runs; whether it serves is the caller's to
// ask.
func (d *Driver) StartService(ctx context.Context, s Service) (*RunningService, error) {
	running, err := d.startService(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("docker: start service %s: %w", s.Name, err)
	}
	return running, nil
}

func (d *Driver) startService(ctx context.Context, s Service) (*RunningService, error) {
	if err := s.check(strings.TrimPrefix(d.host, "unix://")); err != nil {
		return nil, err
	}
	e, err := d.ready(ctx)
	if err != nil {
		return nil, err
	}
	d.services.Lock()
	defer d.services.Unlock()
	if _, err := d.sweepServices(ctx, s.Owner, s.Name); err != nil {
		return nil, err
	}
	if err := d.upstreamNetwork(ctx, s.Owner); err != nil {
		return nil, err
	}
	running, err := d.runService(ctx, s, e.cpus)
	if err != nil {
		return nil, errors.Join(err, d.removeNetwork(context.WithoutCancel(ctx), s.Owner))
	}
	return running, nil
}

// runService makes and starts the container. On an error nothing is left of it.
func (d *Driver) runService(ctx context.Context, s Service, cpus int) (*RunningService, error) {
	img, err := scratchImage(s.Name, s.Binary)
	if err != nil {
		return nil, err
	}
	image, err := d.load(ctx, img, img.digest)
	if err != nil {
		return nil, err
	}
	id, err := d.create(ctx, serviceRequest(s, image, d.epoch, cpus))
	if err != nil {
		return nil, err
	}
	running := &RunningService{driver: d, id: id, name: s.Name, owner: s.Owner}
	if err := running.start(ctx, s); err != nil {
		return nil, errors.Join(err, remove(context.WithoutCancel(ctx), d.api, id))
	}
	return running, nil
}

func (s Service) check(engineSocket string) error {
	switch {
	case !serviceName.MatchString(s.Name):
		return fmt.Errorf("name %q is not 1–32 small letters, digits or '-'", s.Name)
	case s.Owner == "":
		return errors.New("it has no owner")
	case s.UID <= 0 || s.GID <= 0:
		return fmt.Errorf("uid %d gid %d: a service never runs as root", s.UID, s.GID)
	}
	for _, m := range s.Mounts {
		if err := checkMount(m, engineSocket); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.Source, m.Target, err)
		}
	}
	return nil
}

// checkMount refuses a source that is not where it seems to be or that holds
// the engine's socket, which is the whole machine.
func checkMount(m sandbox.Mount, engineSocket string) error {
	real, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return err
	}
	if real != m.Source || !path.IsAbs(m.Target) || path.Clean(m.Target) != m.Target || m.Target == "/" {
		return fmt.Errorf("both must be absolute and clean, without symbolic links (the source is really %s)", real)
	}
	socket, err := filepath.EvalSymlinks(engineSocket)
	if err != nil {
		socket = filepath.Clean(engineSocket)
	}
	if socket == real || strings.HasPrefix(socket, strings.TrimSuffix(real, "/")+"/") {
		return errors.New("it holds the container engine's socket")
	}
	return nil
}

// serviceRequest turns a service into what the engine is asked for.
func serviceRequest(s Service, image, epoch string, cpus int) client.ContainerCreateOptions {
	exposed := network.PortSet{}
	published := network.PortMap{}
	for _, p := range s.Ports {
		port := network.MustParsePort(strconv.Itoa(int(p)) + "/tcp")
		exposed[port] = struct{}{}
		published[port] = []network.PortBinding{{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1})}}
	}
	host := serviceHost(s, cpus)
	host.PortBindings = published
	return client.ContainerCreateOptions{
		Name: containerName(s.Owner, "service-"+s.Name),
		Config: &container.Config{
			Image:        image,
			Hostname:     s.Name,
			User:         fmt.Sprintf("%d:%d", s.UID, s.GID),
			Entrypoint:   []string{"/" + s.Name},
			Cmd:          s.Args,
			WorkingDir:   "/",
			ExposedPorts: exposed,
			StopSignal:   "SIGTERM",
			StopTimeout:  pointer(stopSeconds),
			Labels: mergeLabels(s.Labels, map[string]string{
				labelOwner: s.Owner, labelKind: kindService, labelService: s.Name, labelEpoch: epoch,
			}),
		},
		HostConfig: host,
	}
}

func serviceHost(s Service, cpus int) *container.HostConfig {
	l := limits{memory: s.Memory, pids: s.PIDs, nanoCPUs: int64(min(s.CPUs, float64(cpus)) * 1e9)}
	if l.memory == 0 {
		l.memory = serviceMemory
	}
	if l.pids == 0 {
		l.pids = servicePIDs
	}
	if l.nanoCPUs == 0 {
		l.nanoCPUs = int64(min(serviceCPUs, float64(cpus)) * 1e9)
	}
	h := hardened(serviceHardening(), l)
	h.OomScoreAdj = 0 // unlike a sandbox, it is not the first to go
	h.NetworkMode = container.NetworkMode(upstreamName(s.Owner))
	h.Tmpfs = map[string]string{"/tmp": fmt.Sprintf("rw,nosuid,nodev,noexec,size=%d,mode=1777,uid=%d,gid=%d", serviceTmp, s.UID, s.GID)}
	for _, g := range s.Groups {
		h.GroupAdd = append(h.GroupAdd, strconv.Itoa(g))
	}
	for _, m := range s.Mounts {
		h.Mounts = append(h.Mounts, bind(m))
	}
	return h
}

// serviceHardening is what a sandbox gets, but for the network.
func serviceHardening() sandbox.Hardening {
	return sandbox.Hardening{
		ReadOnlyRoot: true, NoNewPrivs: true, DropCapabilities: true,
		Masked: []string{
			"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
			"/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list",
			"/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware",
		},
		ReadOnly: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		NoFile:   8192,
		ShmSize:  1 << 20,
	}
}

// start runs the process and learns which ports it got.
func (r *RunningService) start(ctx context.Context, s Service) error {
	api := r.driver.api
	if _, err := api.ContainerStart(ctx, r.id, client.ContainerStartOptions{}); err != nil {
		return r.driver.explain(err)
	}
	got, err := api.ContainerInspect(ctx, r.id, client.ContainerInspectOptions{})
	if err != nil {
		return fmt.Errorf("inspect it: %w", err)
	}
	if st := got.Container.State; st == nil || !st.Running {
		logs, _ := r.Logs(ctx, sandbox.StderrLimit)
		return fmt.Errorf("it ended at once: %s", strings.TrimSpace(logs))
	}
	r.addresses = map[uint16]netip.AddrPort{}
	for _, p := range s.Ports {
		bound := got.Container.NetworkSettings.Ports[network.MustParsePort(strconv.Itoa(int(p))+"/tcp")]
		if len(bound) != 1 || !bound[0].HostIP.IsLoopback() {
			return fmt.Errorf("%w: port %d is published on %v and not on one loopback address", ErrNotAsAsked, p, bound)
		}
		address, err := netip.ParseAddrPort(bound[0].HostIP.String() + ":" + bound[0].HostPort)
		if err != nil {
			return fmt.Errorf("port %d: %w", p, err)
		}
		r.addresses[p] = address
	}
	return nil
}

// ID is the engine's id of the container.
func (r *RunningService) ID() string { return r.id }

// Address is where a port of the service answers on this machine.
func (r *RunningService) Address(port uint16) netip.AddrPort { return r.addresses[port] }

// Wait blocks until the process has ended and returns its exit code.
func (r *RunningService) Wait(ctx context.Context) (int, error) {
	end := r.driver.api.ContainerWait(ctx, r.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case e := <-end.Result:
		return int(e.StatusCode), nil
	case err := <-end.Error:
		return 0, fmt.Errorf("docker: wait for service %s: %w", r.name, err)
	}
}

// Logs returns the end of what it wrote, at most most bytes.
func (r *RunningService) Logs(ctx context.Context, most int) (string, error) {
	logs, err := r.driver.api.ContainerLogs(ctx, r.id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "1000"})
	if err != nil {
		return "", fmt.Errorf("docker: read the log of service %s: %w", r.name, err)
	}
	defer logs.Close()
	text := newTail(most)
	err = demultiplex(text, text, io.Reader(logs))
	return text.String(), err
}

// Stop ends the service, TERM and after grace KILL, and removes it, and its
// network with the last service of the owner.
func (r *RunningService) Stop(ctx context.Context, grace time.Duration) error {
	seconds := int((grace + time.Second - 1) / time.Second)
	_, err := r.driver.api.ContainerStop(ctx, r.id, client.ContainerStopOptions{Timeout: &seconds})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("docker: stop service %s: %w", r.name, err)
	}
	r.driver.services.Lock()
	defer r.driver.services.Unlock()
	if err := remove(ctx, r.driver.api, r.id); err != nil {
		return err
	}
	if err := r.driver.removeNetwork(ctx, r.owner); err != nil {
		return fmt.Errorf("docker: stop service %s: %w", r.name, err)
	}
	return nil
}

// sweepServices removes this owner's services of these names, all of them when
// no name is given, and says how many.
func (d *Driver) sweepServices(ctx context.Context, owner string, names ...string) (int, error) {
	return d.sweep(ctx, owner, kindService, func(labels map[string]string) bool {
		return len(names) > 0 && !slices.Contains(names, labels[labelService])
	})
}
