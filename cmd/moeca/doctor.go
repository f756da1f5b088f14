package main

import (
	"fmt"

	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

type doctorCmd struct{}

// Run looks at this machine. Where a host runs on the data directory it answers
// itself, because it knows which driver it uses; none is needed.
func (doctorCmd) Run(e *env) error {
	opts, err := e.options()
	if err != nil {
		return err
	}
	var d hostapi.Doctor
	if c := e.running(); c == nil || c.do(e.ctx, "GET", "/api/doctor", nil, &d) != nil {
		d = stack.Examine(e.ctx, opts)
	}
	if e.cli.JSON {
		err = e.print(d)
	} else {
		e.showDoctor(d)
	}
	if err == nil && d.Driver == "none" {
		return &failure{exit: exitMissing}
	}
	return err
}

func (e *env) showDoctor(d hostapi.Doctor) {
	fmt.Fprintf(e.stdout, "driver: %s\n", d.Driver)
	for _, drv := range d.Drivers {
		mark, why := "✓", "usable"
		if !drv.Usable {
			mark, why = "✗", drv.Why
		}
		fmt.Fprintf(e.stdout, "  %s %-8s %s\n", mark, drv.Name, why)
		for _, l := range drv.Limits {
			fmt.Fprintf(e.stdout, "             not enforced: %s\n", l)
		}
	}
	fmt.Fprintln(e.stdout, "tools:")
	for _, t := range d.Tools {
		if t.Found {
			fmt.Fprintf(e.stdout, "  ✓ %-12s %s (%s)\n", t.Name, t.Version, t.Need)
			continue
		}
		fmt.Fprintf(e.stdout, "  ✗ %-12s missing (%s): %s\n", t.Name, t.Need, t.Get)
	}
	fmt.Fprintln(e.stdout, "images:")
	for _, i := range d.Images {
		state := "built at first need"
		if i.Ready {
			state = "ready " + i.Digest
		}
		fmt.Fprintf(e.stdout, "  %-6s %s %s\n", i.Policy, state, i.Note)
	}
}
