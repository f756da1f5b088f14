package main

import (
	"fmt"
	"strconv"

	"moeca/internal/gateway/gatewayapi"
)

type auditRetention struct {
	Days string `help:"Keep contents for that many days, or off to keep them for ever." placeholder:"N|off"`
}

// Run prints the setting, or changes it. A change that has contents erased needs
// a person at a terminal.
func (a *auditRetention) Run(e *env, c *client) error {
	var now gatewayapi.Retention
	if err := c.do(e.ctx, "GET", "/api/audit/retention", nil, &now); err != nil {
		return err
	}
	if a.Days == "" {
		return e.printRetention(now)
	}
	set := gatewayapi.Retention{}
	if a.Days != "off" {
		n, err := strconv.Atoi(a.Days)
		if err != nil || n < 1 || n > gatewayapi.MaxRetentionDays {
			return fail(exitUsage, "days", fmt.Sprintf("write a number from 1 to %d, or off", gatewayapi.MaxRetentionDays), "%q is no number of days", a.Days)
		}
		set.Days = n
		fmt.Fprintln(e.stderr, "Captured requests and answers that are older are destroyed, now and every day, and cannot be had again. Rows, their proofs, backups and exports stay.")
		if err := e.confirm(fmt.Sprintf("keep contents for %d days", n)); err != nil {
			return err
		}
	}
	if err := c.asPerson(e.ctx, "PUT", "/api/audit/retention", set, &now); err != nil {
		return err
	}
	return e.printRetention(now)
}

func (e *env) printRetention(r gatewayapi.Retention) error {
	switch {
	case e.cli.JSON:
		return e.print(r)
	case r.Days == 0:
		fmt.Fprintln(e.stdout, "contents are kept for ever")
	default:
		fmt.Fprintf(e.stdout, "contents are kept for %d days\n", r.Days)
	}
	return nil
}
