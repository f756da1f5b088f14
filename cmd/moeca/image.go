package main

import (
	"fmt"

	"moeca/internal/stack"
)

type imageCmd struct {
	Build imageBuild `cmd:"" help:"Make the image of a policy now instead of at first need."`
}

type imageBuild struct {
	Policy string `arg:"" enum:"base,poly" help:"base or poly."`
}

// Run builds an image; progress goes to standard error.
func (i *imageBuild) Run(e *env) error {
	opts, err := e.options()
	if err != nil {
		return err
	}
	digest, err := stack.BuildImage(e.ctx, opts, i.Policy, func(line string) { fmt.Fprintln(e.stderr, plain(line)) })
	if err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(map[string]string{"policy": i.Policy, "digest": digest})
	}
	fmt.Fprintf(e.stdout, "%s %s\n", i.Policy, digest)
	return nil
}
