// Command moeca-demo-check is the CI gate of the demo repository: a static
// program that tests the tree it is started in. It reads units.csv and
// docs/units.md and fails, naming every difference, when they do not hold the
// same units with the same factors.
//
// Exit codes: 0 they agree, 1 they do not, 2 a file cannot be read.
package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() { os.Exit(check(".", os.Stdout)) }

func check(dir string, out io.Writer) int {
	table, err := readTable(dir + "/units.csv")
	if err != nil {
		fmt.Fprintln(out, "FAIL units.csv:", err)
		return 2
	}
	page, err := readPage(dir + "/docs/units.md")
	if err != nil {
		fmt.Fprintln(out, "FAIL docs/units.md:", err)
		return 2
	}
	failed := 0
	for _, name := range table.order {
		switch documented, ok := page.units[name]; {
		case !ok:
			fmt.Fprintf(out, "FAIL %s: in units.csv but not documented\n", name)
			failed++
		case documented != table.units[name]:
			fmt.Fprintf(out, "FAIL %s: units.csv says %v, docs/units.md says %v\n", name, table.units[name], documented)
			failed++
		default:
			fmt.Fprintf(out, "ok   %s\n", name)
		}
	}
	for _, name := range page.order {
		if _, ok := table.units[name]; !ok {
			fmt.Fprintf(out, "FAIL %s: documented but not in units.csv\n", name)
			failed++
		}
	}
	if failed > 0 {
		fmt.Fprintf(out, "%d of %d units failed\n", failed, len(table.order))
		return 1
	}
	fmt.Fprintf(out, "all %d units agree\n", len(table.order))
	return 0
}

// unit is what both files must agree on.
type unit struct {
	symbol string
	metres float64
}

type list struct {
	order []string
	units map[string]unit
}

func (l *list) add(name, symbol, metres string) error {
	factor, err := strconv.ParseFloat(metres, 64)
	if err != nil || factor <= 0 {
		return fmt.Errorf("%s: factor %q is not a positive number", name, metres)
	}
	if _, twice := l.units[name]; twice {
		return fmt.Errorf("%s is there twice", name)
	}
	if l.units == nil {
		l.units = map[string]unit{}
	}
	l.order = append(l.order, name)
	l.units[name] = unit{symbol, factor}
	return nil
}

func readTable(file string) (*list, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	var l list
	for i, row := range rows {
		if i == 0 {
			continue
		}
		if len(row) != 3 {
			return nil, fmt.Errorf("line %d has %d fields, not 3", i+1, len(row))
		}
		if err := l.add(row[0], row[1], row[2]); err != nil {
			return nil, err
		}
	}
	return &l, nil
}

func readPage(file string) (*list, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var l list
	for _, line := range strings.Split(string(raw), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if len(cells) != 3 || strings.Contains(line, "---") || strings.TrimSpace(cells[0]) == "unit" {
			continue
		}
		name, symbol := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])
		if err := l.add(name, symbol, strings.TrimSuffix(strings.TrimSpace(cells[2]), " m")); err != nil {
			return nil, err
		}
	}
	return &l, nil
}
