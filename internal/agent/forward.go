package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// maxForwarded bounds the connections open through one forwarder; the next one
// waits in the listener's queue.
const maxForwarded = 256

// acceptPause keeps a listener that fails from spinning.
const acceptPause = 20 * time.Millisecond

// Forwarder gives children a loopback port that leads to one of the sandbox's
// sockets. It copies bytes and reads none of them: the gateway judges what is
// said, and knows the sandbox by the socket.
type Forwarder struct {
	listener net.Listener
	socket   string
	wg       sync.WaitGroup
	cancel   context.CancelFunc
}

// Forward listens on address and copies every connection to socket until Close.
func Forward(ctx context.Context, address, socket string) (*Forwarder, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("agent: forward %s to %s: %w", address, socket, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &Forwarder{listener: l, socket: socket, cancel: cancel}
	context.AfterFunc(ctx, func() { l.Close() })
	f.wg.Go(func() { f.accept(ctx) })
	return f, nil
}

// Addr is where it listens.
func (f *Forwarder) Addr() net.Addr { return f.listener.Addr() }

// Close ends the listener and every connection and waits for them.
func (f *Forwarder) Close() {
	f.cancel()
	f.listener.Close()
	f.wg.Wait()
}

func (f *Forwarder) accept(ctx context.Context) {
	slots := make(chan struct{}, maxForwarded)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		c, err := f.listener.Accept()
		if err != nil {
			<-slots
			if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
				return
			}
			// The peer is gone, or descriptors are short for a moment.
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
			continue
		}
		f.wg.Go(func() {
			defer func() { <-slots }()
			f.serve(ctx, c)
		})
	}
}

func (f *Forwarder) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(ctx, "unix", f.socket)
	if err != nil {
		return // the child sees its connection closed, as when the gateway ends it
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { client.Close(); server.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(server, client) })
	both.Go(func() { copyHalf(client, server) })
	both.Wait()
}

// copyHalf copies one direction and passes its end on.
func copyHalf(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if h, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
		if h.CloseWrite() == nil {
			return
		}
	}
	dst.Close()
	src.Close()
}
