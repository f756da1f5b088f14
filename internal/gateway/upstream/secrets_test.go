package upstream

import (
	"encoding/base64"
	"slices"
	"testing"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/secret"
)

func TestSecretsAreWhatIsSent(t *testing.T) {
	basic := base64.RawStdEncoding.EncodeToString
	for name, row := range map[string]struct {
		kind, key string
		want      []string
	}{
		"no key":            {KindGitHub, "", nil},
		"a key in a header": {KindAnthropic, "sk-ant-123", []string{"sk-ant-123"}},
		"the user of a Basic key is none": {
			KindJira, "ann@example.com:token-123",
			[]string{"ann@example.com:token-123", basic([]byte("ann@example.com:token-123"))},
		},
		"git and REST of one key": {KindGitHub, "ghp_12345", []string{"ghp_12345", basic([]byte("x-access-token:ghp_12345"))}},
		"git alone":               {KindGit, "ghp_12345", []string{"ghp_12345", basic([]byte("x-access-token:ghp_12345"))}},
		"both parts":              {KindTrello, "0123456789:token-123", []string{"0123456789:token-123", "0123456789"}},
		"what signs":              {KindSigV4, "AKIDEXAMPLE:secret-123", []string{"AKIDEXAMPLE:secret-123", "AKIDEXAMPLE"}},
	} {
		u := defaults("x", row.kind)
		if row.kind == KindSigV4 {
			u.Auth = gatewayapi.Auth{Scheme: gatewayapi.SchemeSigV4, Region: "eu-west-1", Service: "s3"}
		}
		if u.BaseURL == "" {
			u.BaseURL = "https://api.example.com"
		}
		if err := u.parse(); err != nil {
			t.Fatal(name, err)
		}
		u.Key = secret.New(row.key)
		var got []string
		for _, s := range u.Secrets() {
			got = append(got, s.Open())
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
