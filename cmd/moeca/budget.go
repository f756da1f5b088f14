package main

import (
	"fmt"
	"slices"
	"strconv"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

type budgetCmd struct {
	List budgetList `cmd:"" help:"Show what was drawn today, and the limits."`
	Set  budgetSet  `cmd:"" help:"Limit what all providers, or one, may draw in a day (UTC)."`
}

type budgetList struct{}

// Run lists budgets.
func (budgetList) Run(e *env, c *client) error {
	var list []gatewayapi.BudgetState
	if err := c.do(e.ctx, "GET", "/api/budgets", nil, &list); err != nil {
		return err
	}
	return e.printBudgets(list)
}

func (e *env) printBudgets(list []gatewayapi.BudgetState) error {
	return printTable(e, list, "", []string{"BUDGET", "TOKENS", "OF", "USD", "OF"}, func(b gatewayapi.BudgetState) []string {
		limit := session.Budget{}
		if b.Limit != nil {
			limit = *b.Limit
		}
		tokens, cost := b.Spent.Tokens+b.Reserved.Tokens, b.Spent.CostNano+b.Reserved.CostNano
		return []string{
			b.Scope + " " + b.ID, tokenWords(tokens), limitWords(limit.Tokens, tokenWords),
			gatewayapi.USD(cost), limitWords(limit.CostNano, gatewayapi.USD),
		}
	})
}

func limitWords(limit int64, words func(int64) string) string {
	switch {
	case limit < 0:
		return "nothing"
	case limit == 0:
		return "no limit"
	}
	return words(limit)
}

type budgetSet struct {
	What   string  `arg:"" help:"day, or the name of a provider."`
	Tokens *int64  `help:"Tokens a day; 0 is no limit, a negative number nothing at all."`
	USD    *string `name:"usd" help:"USD a day, like 12.50; 0 is no limit."`
}

// Run sets a limit; what is not named keeps its value.
func (s *budgetSet) Run(e *env) error {
	if s.Tokens == nil && s.USD == nil {
		return fail(exitUsage, "no_limit", "add --tokens or --usd", "no limit was given")
	}
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	put := gatewayapi.BudgetPut{Scope: gatewayapi.BudgetProvider, ID: s.What}
	if s.What == gatewayapi.BudgetDay {
		put.Scope, put.ID = gatewayapi.BudgetDay, ""
	}
	var list []gatewayapi.BudgetState
	if err := c.do(e.ctx, "GET", "/api/budgets", nil, &list); err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(b gatewayapi.BudgetState) bool { return b.Scope == put.Scope && b.ID == put.ID })
	if i >= 0 && list[i].Limit != nil && list[i].Limit.Tokens >= 0 { // "nothing" is of both
		put.Budget = *list[i].Limit
	}
	if s.Tokens != nil {
		put.Budget.Tokens = *s.Tokens
	}
	if s.USD != nil {
		if put.Budget.CostNano, err = gatewayapi.ParseUSD(*s.USD); err != nil {
			return fail(exitUsage, "usd", "write it like 12.50", "%v", err)
		}
	}
	var after []gatewayapi.BudgetState
	if err := c.asPerson(e.ctx, "PUT", "/api/budgets", put, &after); err != nil {
		return err
	}
	return e.printBudgets(after)
}

type priceCmd struct {
	List   priceList   `cmd:"" help:"Show the price table, in USD per million tokens."`
	Set    priceSet    `cmd:"" help:"Set the price of a model."`
	Remove priceRemove `cmd:"" help:"Remove a row of the table."`
}

type priceList struct{}

// Run lists prices.
func (priceList) Run(e *env, c *client) error {
	var p gatewayapi.Prices
	if err := c.do(e.ctx, "GET", "/api/prices", nil, &p); err != nil {
		return err
	}
	return e.printPrices(p)
}

func (e *env) printPrices(p gatewayapi.Prices) error {
	if e.cli.JSON {
		return e.print(p)
	}
	w := newTable(e.stdout, "PROVIDER", "MODEL", "UP TO", "INPUT", "OUTPUT", "CACHED", "CACHE 5M", "CACHE 1H", "SEARCH")
	for _, r := range p.Prices {
		where, upTo := r.Upstream, "any"
		if where == "" {
			where = "kind " + r.Kind
		}
		if r.UpTo > 0 {
			upTo = strconv.FormatInt(r.UpTo, 10)
		}
		w.line(where, r.Model, upTo, r.Input, r.Output, r.CacheRead, r.CacheWrite5m, r.CacheWrite1h, r.Search)
	}
	from := origins(p.Prices)
	if len(from) > 0 {
		fmt.Fprint(w, "\nRead at:\n")
	}
	for _, line := range from {
		w.line(line)
	}
	return w.Flush()
}

// origins are the addresses of rows, each with its days.
func origins(prices []gatewayapi.Price) (from []string) {
	for _, r := range prices {
		if r.Source != "" {
			from = append(from, r.Read+"  "+r.Source)
		}
	}
	slices.Sort(from)
	return slices.Compact(from)
}

// priceKey names a row.
type priceKey struct {
	Model    string `arg:"" help:"Name of a model, or its beginning and *."`
	Provider string `help:"The one provider the row is for."`
	Kind     string `help:"Every provider of this kind: anthropic, openai or gemini."`
	UpTo     int64  `help:"Largest input in tokens the row is for; 0 is any."`
}

func (k priceKey) key() gatewayapi.PriceKey {
	return gatewayapi.PriceKey{Upstream: k.Provider, Kind: k.Kind, Model: k.Model, UpTo: k.UpTo}
}

type priceSet struct {
	priceKey
	Input        string `required:"" help:"USD per million tokens, like 3.75."`
	Output       string `required:"" help:"USD per million tokens."`
	CacheRead    string `help:"Of cached input; default: input."`
	CacheWrite5m string `name:"cache-write-5m" help:"Of a cache write of five minutes; default: input."`
	CacheWrite1h string `name:"cache-write-1h" help:"Of a cache write of an hour; default: that of five minutes."`
	Reasoning    string `help:"Default: output."`
	AudioInput   string `help:"Of sound in the input; default: input."`
	ImageInput   string `help:"Of images in the input; default: input."`
	AudioOutput  string `help:"Of sound in the output; default: output."`
	ImageOutput  string `help:"Of images in the output; default: output."`
	Search       string `help:"USD per search at the provider."`
	Source       string `help:"Address of the page the price was read at."`
	Read         string `help:"Day it stood there, like 2026-01-31."`
}

// Run sets a row.
func (s *priceSet) Run(e *env, c *client) error {
	p, err := e.patchPrices(c, gatewayapi.PricePatch{Set: []gatewayapi.Price{{
		Upstream: s.Provider, Kind: s.Kind, Model: s.Model, UpTo: s.UpTo, Input: s.Input, Output: s.Output,
		CacheRead: s.CacheRead, CacheWrite5m: s.CacheWrite5m, CacheWrite1h: s.CacheWrite1h, Reasoning: s.Reasoning, Search: s.Search,
		AudioInput: s.AudioInput, ImageInput: s.ImageInput, AudioOutput: s.AudioOutput, ImageOutput: s.ImageOutput, Source: s.Source, Read: s.Read,
	}}})
	if err != nil || e.cli.JSON {
		return err
	}
	p.Prices = slices.DeleteFunc(p.Prices, func(r gatewayapi.Price) bool { return r.Key() != s.key() }) // not the whole table
	return e.printPrices(p)
}

type priceRemove struct{ priceKey }

// Run removes a row.
func (r *priceRemove) Run(e *env, c *client) error {
	_, err := e.patchPrices(c, gatewayapi.PricePatch{Remove: []gatewayapi.PriceKey{r.key()}})
	if err != nil || e.cli.JSON {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "removed the price of %s\n", r.Model)
	return err
}

// patchPrices changes the table, which --json prints whole.
func (e *env) patchPrices(c *client, patch gatewayapi.PricePatch) (p gatewayapi.Prices, err error) {
	if err := c.asPerson(e.ctx, "PATCH", "/api/prices", patch, &p); err != nil || !e.cli.JSON {
		return p, err
	}
	return p, e.print(p)
}
