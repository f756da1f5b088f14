package main

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"moeca/internal/hostapi"
)

type providerTest struct {
	Name string `arg:"" help:"Name of the provider."`
}

// Run makes the call. A provider that does not work is exit code 1.
func (p *providerTest) Run(e *env, c *client) error {
	var r hostapi.ProviderTest
	if err := c.asPerson(e.ctx, "POST", "/api/providers/"+url.PathEscape(p.Name)+"/test", nil, &r); err != nil {
		return err
	}
	if e.cli.JSON {
		if err := e.print(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(e.stdout, "%s: %s (%d ms)\n", r.Class, r.Message, r.LatencyMS)
	}
	if !r.OK && r.Class != "none" {
		return fail(exitFailed, "provider_"+strings.ReplaceAll(r.Class, "-", "_"), "correct it and test again", "%s does not work: %s", p.Name, r.Class)
	}
	return nil
}

type providerModels struct {
	Name string `arg:"" help:"Name of the provider."`
}

// Run prints one model to a line.
func (p *providerModels) Run(e *env, c *client) error {
	var m hostapi.ProviderModels
	if err := c.asPerson(e.ctx, "GET", "/api/providers/"+url.PathEscape(p.Name)+"/models", nil, &m); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(m)
	}
	for _, name := range m.Models {
		fmt.Fprintln(e.stdout, name)
	}
	return nil
}

type providerDetect struct {
	Add bool `help:"Add what was found as providers of its name."`
}

// Run looks at the default ports of the common servers.
func (p *providerDetect) Run(e *env, c *client) error {
	found := []hostapi.LocalServer{}
	if err := c.asPerson(e.ctx, "GET", "/api/local-servers", nil, &found); err != nil {
		return err
	}
	for i, s := range found {
		if p.Add && s.Added == "" {
			kind, local := "openai", true
			in := hostapi.ProviderInput{Kind: &kind, BaseURL: &s.BaseURL, Models: &s.Models, Local: &local}
			if err := c.asPerson(e.ctx, "PUT", "/api/providers/"+url.PathEscape(s.Name), in, nil); err != nil {
				return err
			}
			found[i].Added = s.Name
		}
	}
	none := "no model server answers on 127.0.0.1 (Ollama 11434, llama.cpp 8080, vLLM 8000)"
	return printTable(e, found, none, []string{"SERVER", "ADDRESS", "PROVIDER", "MODELS"}, func(s hostapi.LocalServer) []string {
		return []string{s.Name, s.BaseURL, cmp.Or(s.Added, "not added: --add"), strings.Join(s.Models, " ")}
	})
}
