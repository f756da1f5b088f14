package auditindex

import (
	"context"
	"database/sql"
	"fmt"
)

// Facets are the values that filters can be set to: the most used of each, the
// newest runs first.
type Facets struct {
	Agents    []string `json:"agents"`
	Models    []string `json:"models"`
	Upstreams []string `json:"upstreams"`
	Runs      []string `json:"runs"`
}

// facetLimit bounds each list.
const facetLimit = 200

// Facets returns what there is.
func (x *Index) Facets(ctx context.Context) (f Facets, err error) {
	err = x.read(ctx, func(tx *sql.Tx) error {
		for _, list := range []struct {
			to    *[]string
			query string
		}{
			{&f.Agents, `SELECT agent FROM total WHERE agent <> '' GROUP BY agent ORDER BY sum(calls) DESC, agent`},
			{&f.Models, `SELECT model FROM total WHERE model <> '' GROUP BY model ORDER BY sum(calls) DESC, model`},
			{&f.Upstreams, `SELECT upstream FROM total WHERE upstream <> '' GROUP BY upstream ORDER BY sum(calls) DESC, upstream`},
			{&f.Runs, `SELECT run FROM node WHERE run <> '' GROUP BY run ORDER BY max(last) DESC`},
		} {
			*list.to = []string{}
			rows, err := tx.QueryContext(ctx, fmt.Sprintf("%s LIMIT %d", list.query, facetLimit))
			if err != nil {
				return err
			}
			if err := each(rows, func() error {
				var s string
				err := rows.Scan(&s)
				*list.to = append(*list.to, s)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return f, err
}
