package docker

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// Options of the network services stand on. Containers on it cannot reach each
// other: today there is one, and a second one is no reason to trust it.
const (
	optionTalk  = "com.docker.network.bridge.enable_icc"
	networkKind = "bridge"
)

// upstreamName names the network of an owner's services.
func upstreamName(owner string) string { return "moeca-upstream-" + owner }

// upstreamNetwork makes the owner's network or checks the one that is there. A
// network of the right name with other properties is refused, never repaired:
// somebody else made it. The caller holds d.services.
func (d *Driver) upstreamNetwork(ctx context.Context, owner string) error {
	name := upstreamName(owner)
	found, err := d.networksNamed(ctx, name)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := d.api.NetworkCreate(ctx, name, client.NetworkCreateOptions{
			Driver: networkKind, EnableIPv6: pointer(false),
			Options: map[string]string{optionTalk: "false"},
			Labels:  map[string]string{labelOwner: owner, labelKind: kindNetwork},
		})
		if err != nil {
			return fmt.Errorf("make network %s: %w", name, d.explain(err))
		}
		if found, err = d.networksNamed(ctx, name); err != nil {
			return err
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("%w: %d networks are named %s; remove them (docker network rm) and try again", ErrNotAsAsked, len(found), name)
	}
	return checkNetwork(found[0], owner)
}

// networksNamed lists the networks with exactly this name; the engine's own
// filter also matches parts of a name.
func (d *Driver) networksNamed(ctx context.Context, name string) ([]network.Network, error) {
	list, err := d.api.NetworkList(ctx, client.NetworkListOptions{Filters: client.Filters{}.Add("name", name)})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", d.explain(err))
	}
	var out []network.Network
	for _, n := range list.Items {
		if n.Name == name {
			out = append(out, n.Network)
		}
	}
	return out, nil
}

// checkNetwork refuses a network that is not the one we make.
func checkNetwork(n network.Network, owner string) error {
	c := &comparison{}
	c.same("driver", networkKind, n.Driver)
	c.same("scope", "local", n.Scope)
	c.same("internal", false, n.Internal)
	c.same("attachable", false, n.Attachable)
	c.same("ingress", false, n.Ingress)
	c.same("ipv6", false, n.EnableIPv6)
	c.same("containers may talk to each other", "false", n.Options[optionTalk])
	c.same("owner", owner, n.Labels[labelOwner])
	c.same("kind", kindNetwork, n.Labels[labelKind])
	if err := c.err(); err != nil {
		return fmt.Errorf("network %s: %w; remove it (docker network rm %s) and try again", n.Name, err, n.Name)
	}
	return nil
}

// removeNetwork removes the owner's network unless a service stands on it:
// engines have addresses for some thirty networks, and throw-away data
// directories would use them up. The caller holds d.services.
func (d *Driver) removeNetwork(ctx context.Context, owner string) error {
	found, err := d.networksNamed(ctx, upstreamName(owner))
	if err != nil {
		return err
	}
	for _, n := range found {
		if n.Labels[labelOwner] != owner {
			continue
		}
		_, err := d.api.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
		inUse := errdefs.IsPermissionDenied(err) || errdefs.IsConflict(err)
		if err != nil && !inUse && !errdefs.IsNotFound(err) {
			return fmt.Errorf("remove network %s: %w", n.Name, err)
		}
	}
	return nil
}
