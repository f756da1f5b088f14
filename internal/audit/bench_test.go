package audit

import (
	"context"
	"sync/atomic"
	"testing"
)

// BenchmarkAppend512 measures rows that 512 writers make durable, each waiting
// for its own, on the file system of the temporary directory.
func BenchmarkAppend512(b *testing.B) {
	l := mustOpenLog(b, b.TempDir(), Options{})
	defer l.Close()
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan error, 512)
	b.ResetTimer()
	for range cap(done) {
		go func() {
			for left.Add(-1) >= 0 {
				p, err := l.Queue(Record{Kind: KindRefusal, Upstream: "demo", Target: "/v1/messages", Gate: "write", Reason: "not-allowed"}, nil, nil)
				if err == nil {
					err = p.Wait(context.Background())
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkVerify measures the rows Verify checks.
func BenchmarkVerify(b *testing.B) {
	dir := b.TempDir()
	l := mustOpenLog(b, dir, Options{})
	const rows = 20000
	for range rows {
		mustQueue(b, l, Record{Kind: KindRefusal, Upstream: "demo", Target: "/v1/messages", Gate: "write", Reason: "not-allowed"})
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if rep, err := Verify(b.Context(), dir, VerifyOptions{}); err != nil || !rep.OK {
			b.Fatalf("%+v, %v", rep, err)
		}
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkEncode measures the encoding of a row with every field.
func BenchmarkEncode(b *testing.B) {
	r := full()
	var buf []byte
	for range b.N {
		var err error
		if buf, err = Encode(buf[:0], &r); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}
