// Package images carries what the image build needs, so that the host binary
// alone can make the poly image. The policies themselves are in
// internal/sandbox; nothing here decides anything.
package images

import "embed"

// Poly is the directory with build.sh and the package list.
//
//go:embed poly
var Poly embed.FS
