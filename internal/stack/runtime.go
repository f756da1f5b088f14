package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"moeca/internal/sandbox"
)

// Identity says which uid and gid sandboxes and the gateway's container use.
// As root they are those of package sandbox: a sandbox gets the group of the
// sockets in addition, and only one that has sockets does. A normal user's
// sandboxes and services run as that user.
type Identity struct {
	SandboxUID, SandboxGID int
	GatewayUID, GatewayGID int // GatewayGID is the group of the sockets
	Root                   bool
}

// identity decides it from the uid of this process.
func identity() Identity {
	if uid := os.Getuid(); uid != 0 {
		return Identity{uid, os.Getgid(), uid, os.Getgid(), false}
	}
	return Identity{sandbox.UserUID, sandbox.UserGID, sandbox.GatewayUID, sandbox.SocketGID, true}
}

// Runtime is the directory of sockets.
type Runtime struct {
	Path string
	id   Identity
}

// maxSocket is the room in sockaddr_un, less the final NUL.
const maxSocket = 107

// openRuntime makes the directory afresh below base. Stale sockets of an
// earlier process of the same data directory are removed: the lock says that
// nobody uses them. Nobody else can be on the way to it (see trusted), so what
// follows may go by path.
func openRuntime(base, dataID string, id Identity) (*Runtime, error) {
	path := filepath.Join(base, "moeca-"+dataID[:8])
	if n := len(filepath.Join(path, "s", strings.Repeat("x", 16), "registry.sock")); n > maxSocket {
		return nil, fmt.Errorf("runtime directory %s: socket paths would have %d bytes and %d is the most: set --runtime to a shorter directory", path, n, maxSocket)
	}
	base, err := trusted(base, 0o711)
	if err != nil {
		return nil, fmt.Errorf("runtime directory: %w; it can also be set with --runtime", err)
	}
	path = filepath.Join(base, filepath.Base(path))
	if err := os.RemoveAll(path); err != nil {
		return nil, fmt.Errorf("runtime directory: %w", err)
	}
	r := &Runtime{Path: path, id: id}
	if err := r.mkdir("", 0o711, -1, -1); err != nil {
		return nil, err
	}
	for _, err := range []error{
		r.mkdir("g", 0o700, id.GatewayUID, id.GatewayGID),
		r.mkdir("m", 0o750, -1, id.GatewayGID),
		r.mkdir("s", 0o711, -1, -1),
	} {
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Join names a file of the directory.
func (r *Runtime) Join(elem ...string) string {
	return filepath.Join(append([]string{r.Path}, elem...)...)
}

// Make creates the socket directory of one sandbox. The gateway sees it under
// the same path as the host. id is shortened so that the path fits.
func (r *Runtime) Make(id string) (hostDir, gatewayDir string, err error) {
	name := filepath.Join("s", shorten(id))
	mode := os.FileMode(0o700)
	if r.id.Root {
		mode = 0o770
	}
	if err := r.mkdir(name, mode, r.id.SandboxUID, r.id.GatewayGID); err != nil {
		return "", "", err
	}
	dir := r.Join(name)
	return dir, dir, nil
}

// Remove deletes the socket directory of a sandbox. Idempotent.
func (r *Runtime) Remove(id string) error { return os.RemoveAll(r.Join("s", shorten(id))) }

// Close deletes the directory.
func (r *Runtime) Close() error { return os.RemoveAll(r.Path) }

func (r *Runtime) mkdir(name string, mode os.FileMode, uid, gid int) error {
	dir := r.Join(name)
	err := os.Mkdir(dir, mode)
	if err == nil && r.id.Root {
		err = os.Chown(dir, uid, gid)
	}
	if err == nil {
		err = os.Chmod(dir, mode) // whatever the umask says
	}
	if err != nil {
		return fmt.Errorf("runtime directory: %w", err)
	}
	return nil
}

// shorten keeps the end of an id, which is its random part.
func shorten(id string) string {
	if len(id) > 16 {
		return id[len(id)-16:]
	}
	return id
}
