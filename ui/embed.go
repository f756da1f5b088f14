// Package ui carries the built interface inside the host's binary.
//
// The files come from `make ui` (vite build into ui/dist) and are not
// committed; a marker file keeps the directory there, so that the module
// builds without Node. Built tells the two apart: without an index page the
// host serves a page of its own that says how to build one.
//
// The files are static and hold no secret: every name below assets/ carries a
// hash of its content, index.html is the only name that changes its meaning.
package ui

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files is the built interface, rooted at the directory of index.html.
func Files() (fs.FS, error) {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("ui: open embedded files: %w", err)
	}
	return sub, nil
}
