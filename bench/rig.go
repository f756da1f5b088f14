package main

import "context"

// rig is the stub and every way to it: straight, through a bare proxy, through
// the gateway on a sandbox's socket, and the same behind the forwarder that
// gives a sandbox's children a loopback port.
type rig struct {
	stub      *stub
	gateway   *governed
	proxy     *child
	forwarder *child
	ways      []*way
}

// Places in rig.ways.
const (
	wayDirect = iota
	wayProxy
	wayGateway
	wayForwarder
)

const (
	modelPath = "/v1/messages"
	bareProxy = "bare ReverseProxy"
)

func (b *bench) startRig(ctx context.Context) (_ *rig, err error) {
	r := new(rig)
	defer func() {
		if err != nil {
			r.stop()
		}
	}()
	if r.stub, err = newStub(); err != nil {
		return nil, err
	}
	if r.gateway, err = b.startGateway(ctx, r.stub.url); err != nil {
		return nil, err
	}
	socket := b.path("proxy")
	if r.proxy, err = b.startChild(asProxy, socket, r.stub.url); err != nil {
		return nil, err
	}
	if r.forwarder, err = b.startChild(asForwarder, r.gateway.socket); err != nil {
		return nil, err
	}
	r.ways = r.to(modelUpstream, modelPath)
	return r, nil
}

// to are the ways to a path of an upstream.
func (r *rig) to(upstream, path string) []*way {
	return []*way{
		wayDirect:    newWay("direct", "", r.stub.url+path),
		wayProxy:     newWay("proxy", r.proxy.address, "http://proxy"+path),
		wayGateway:   newWay("gateway", r.gateway.socket, "http://gateway/"+upstream+path),
		wayForwarder: newWay("forwarder", "", "http://"+r.forwarder.address+"/"+upstream+path),
	}
}

func (r *rig) stop() {
	closeWays(r.ways)
	for _, c := range []*child{r.forwarder, r.proxy} {
		if c != nil {
			c.stop()
		}
	}
	if r.gateway != nil {
		r.gateway.stop()
	}
	if r.stub != nil {
		r.stub.close()
	}
}

func closeWays(ways []*way) {
	for _, w := range ways {
		w.close()
	}
}
