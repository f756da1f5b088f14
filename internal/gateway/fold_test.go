package gateway

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"moeca/internal/audit"
)

func refusal(gate, reason string) audit.Record {
	return audit.Record{Kind: audit.KindRefusal, Gate: gate, Reason: reason, Target: "/chosen", Method: "POST", BytesIn: 9, Upstream: "u"}
}

func TestFoldCountsWhatRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rows []audit.Record
		f := newFold(3, 10*time.Second, func(r audit.Record) error { rows = append(rows, r); return nil })
		alone := 0
		for range 100 {
			if f.add(refusal("rate", "rate"), time.Now()) {
				alone++
			}
		}
		if !f.add(refusal("route", "no-route"), time.Now()) || alone != 3 {
			t.Fatalf("%d rows of their own; another kind must not be counted with it", alone)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(rows) != 1 || fmt.Sprint(rows[0].Attrs[0]) != "{count 97}" || rows[0].Target != "" || rows[0].Method != "" || rows[0].Upstream != "u" {
			t.Fatalf("%+v", rows)
		}
		if f.add(refusal("rate", "rate"), time.Now()) {
			t.Fatal("a kind that goes on has rows of its own again")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(rows) != 2 || fmt.Sprint(rows[1].Attrs[0]) != "{count 1}" {
			t.Fatalf("%+v", rows)
		}
		if !f.add(refusal("rate", "rate"), time.Now()) {
			t.Fatal("a kind that was quiet for a window has no row of its own")
		}
	})
}

func TestFoldLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rows []audit.Record
		down := errors.New("full")
		f := newFold(0, time.Second, func(r audit.Record) error {
			if down != nil {
				return down
			}
			rows = append(rows, r)
			return nil
		})
		f.add(refusal("a", "a"), time.Now())
		other := refusal("a", "a")
		other.Upstream = "v"
		f.add(other, time.Now())
		time.Sleep(time.Second)
		synctest.Wait()
		f.add(refusal("a", "a"), time.Now())
		down = nil
		if err := f.close(); err != nil || len(rows) != 1 || fmt.Sprint(rows[0].Attrs[0]) != "{count 3}" || rows[0].Upstream != "" {
			t.Fatalf("%v %+v", err, rows)
		}
		if !f.add(refusal("a", "a"), time.Now()) {
			t.Fatal("a refusal after the end was counted and is lost")
		}
	})
}
