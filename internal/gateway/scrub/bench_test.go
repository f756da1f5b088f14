package scrub

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// twenty keys as providers make them.
func twenty() *Set {
	r := rand.New(rand.NewPCG(1, 2))
	letters := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var keys []string
	for i := range 20 {
		b := []byte([]string{"sk-ant-api03-", "sk-proj-", "AIza", "ghp_", ""}[i%5])
		for len(b) < 60 {
			b = append(b, letters[r.IntN(len(letters))])
		}
		keys = append(keys, string(b))
	}
	return New(keys...)
}

func noise(n int, letters string) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return b
}

func bytes256() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

// BenchmarkThroughput is the cost of a body, by what it is made of.
func BenchmarkThroughput(b *testing.B) {
	set := twenty()
	for name, body := range map[string][]byte{
		"binary": noise(1<<20, bytes256()),
		"base64": noise(1<<20, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
		"json":   []byte(strings.Repeat(`{"type":"text","text":"the quick brown fox said \"no\" and left\n","n":12345},`, 1<<20/78)),
		"worst":  noise(1<<20, "%73sk-"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			f, out := set.Filter(), make([]byte, 0, 64<<10)
			for b.Loop() {
				for p := body; len(p) > 0; p = p[min(len(p), 16<<10):] {
					out = f.Push(out[:0], p[:min(len(p), 16<<10)])
				}
				out = f.Flush(out[:0])
			}
		})
	}
}

// BenchmarkFrame is the cost that one event of a stream adds.
func BenchmarkFrame(b *testing.B) {
	frame := []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n")
	f, out := twenty().Filter(), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		out = f.Push(out[:0], frame)
	}
	if len(out) != len(frame) {
		b.Fatal("frame delayed")
	}
}

// BenchmarkHeaders is the cost of the headers of one answer.
func BenchmarkHeaders(b *testing.B) {
	set := twenty()
	var names, values []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("Anthropic-Ratelimit-Tokens-Reset-%d", i))
		values = append(values, fmt.Sprintf("2031-05-06T07:08:%02dZ req_011CSHoEeqs5C35K2UUqR7Fy", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		f := set.Filter()
		for i, name := range names {
			if f.Named(name) || f.String(values[i]) != values[i] {
				b.Fatal("found what is not there")
			}
		}
	}
}

// BenchmarkNew is the cost of a change of the keys.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = twenty().String("x")
	}
}

// BenchmarkReader is the whole way of a body through the filter.
func BenchmarkReader(b *testing.B) {
	set, body := twenty(), string(noise(1<<20, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := io.Copy(io.Discard, NewReader(strings.NewReader(body), set.Filter())); err != nil {
			b.Fatal(err)
		}
	}
}
