package hostapi

import (
	"io/fs"
	"net/http"
	"path"
	"strings"
)

const notBuilt = `<!doctype html><meta charset="utf-8"><title>moeca</title>
<p>This moeca was built without its interface. Run <code>make build</code> in the source tree, then start it again.
The command line and the API work as they are.</p>
`

// uiHandler serves the built UI. Any path that is not a file is one of the
// UI's own deep links and gets index.html. Built assets carry a hash in their
// name and may be kept by the browser.
func uiHandler(files fs.FS) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		if name == "" || !isFile(files, name) {
			name = "index.html"
		}
		if !isFile(files, name) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(notBuilt))
			return
		}
		if strings.HasPrefix(name, "assets/") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		if name == "index.html" {
			serveIndex(w, files)
			return
		}
		http.ServeFileFS(w, r, files, name)
	})
}

// serveIndex avoids http.ServeFileFS, which redirects index.html to "./" and
// would lose a deep link.
func serveIndex(w http.ResponseWriter, files fs.FS) {
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page)
}

func isFile(files fs.FS, name string) bool {
	if files == nil {
		return false
	}
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}
