package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/moby/moby/client"
)

// Sweep removes every sandbox of this owner that is not in keep (sandbox ids),
// running or not, of whatever epoch, and says how many.
func (d *Driver) Sweep(ctx context.Context, owner string, keep []string) (int, error) {
	if owner == "" {
		return 0, errors.New("docker: sweep: no owner was given")
	}
	return d.sweep(ctx, owner, kindSandbox, func(labels map[string]string) bool {
		return slices.Contains(keep, labels[labelSandbox])
	})
}

// sweep removes the owner's containers of a kind that keep does not spare.
// Filters are a wish: labels are looked at again on every answer.
func (d *Driver) sweep(ctx context.Context, owner, kind string, keep func(map[string]string) bool) (int, error) {
	if _, err := d.ready(ctx); err != nil {
		return 0, err
	}
	list, err := d.api.ContainerList(ctx, client.ContainerListOptions{
		All:     true,
		Filters: client.Filters{}.Add("label", labelOwner+"="+owner, labelKind+"="+kind),
	})
	if err != nil {
		return 0, fmt.Errorf("docker: list containers of %s: %w", owner, d.explain(err))
	}
	removed := 0
	var failed []error
	for _, c := range list.Items {
		if c.Labels[labelOwner] != owner || c.Labels[labelKind] != kind || keep(c.Labels) {
			continue
		}
		if err := remove(ctx, d.api, c.ID); err != nil {
			failed = append(failed, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(failed...)
}
