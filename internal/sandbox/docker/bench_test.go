package docker

import (
	"context"
	"fmt"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

// BenchmarkColdStart is Prepare, Attach and Start until pid 1 says it is ready.
func BenchmarkColdStart(b *testing.B) {
	bed := newBed(b)
	spec := bed.spec(b, "cold", sandbox.Base)
	for i := 0; b.Loop(); i++ {
		spec.ID = fmt.Sprintf("cold%d", i)
		box, err := bed.driver.Prepare(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		channel, err := box.Attach(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := box.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, err := channel.Stdout.Read(make([]byte, 1)); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := box.Remove(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkBareEngine is the same image and program with nothing but what the
// engine does by itself: create, attach, start, first byte.
func BenchmarkBareEngine(b *testing.B) {
	bed := newBed(b)
	spec := bed.spec(b, "bare", sandbox.Base)
	api := bed.driver.api
	for i := 0; b.Loop(); i++ {
		made, err := api.ContainerCreate(b.Context(), client.ContainerCreateOptions{
			Name:       containerName(bed.owner, fmt.Sprintf("bare%d", i)),
			Config:     &container.Config{Image: spec.Image.Ref, OpenStdin: true, StdinOnce: true, Labels: map[string]string{labelOwner: bed.owner, labelKind: kindSandbox}},
			HostConfig: &container.HostConfig{NetworkMode: "none"},
		})
		if err != nil {
			b.Fatal(err)
		}
		stream, err := api.ContainerAttach(b.Context(), made.ID, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := api.ContainerStart(b.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
			b.Fatal(err)
		}
		if _, err := stream.Reader.ReadByte(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		stream.Close()
		if err := remove(context.Background(), api, made.ID); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
