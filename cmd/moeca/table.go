package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printTable prints items as one document, or as a table with a head; none is
// said where there are no items.
func printTable[T any](e *env, items []T, none string, head []string, cells func(T) []string) error {
	if e.cli.JSON {
		return e.print(items)
	}
	if len(items) == 0 && none != "" {
		fmt.Fprintln(e.stdout, none)
		return nil
	}
	w := newTable(e.stdout, head...)
	for _, item := range items {
		w.line(cells(item)...)
	}
	return w.Flush()
}

// table is lines of cells, aligned. Cells may come from anywhere: they are made
// safe to print.
type table struct{ *tabwriter.Writer }

func newTable(out io.Writer, head ...string) table {
	t := table{tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)}
	t.line(head...)
	return t
}

func (t table) line(cells ...string) {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = plain(c)
	}
	fmt.Fprintln(t, strings.Join(safe, "\t"))
}
