package gate

import "testing"

func TestCredentialQuery(t *testing.T) {
	for _, name := range []string{
		"key", "api_key", "API-Key", "apikey", "hapikey", "access_token", "oauth_token", "oauth_signature", "oauth_consumer_key", "xoauth_requestor_id",
		"X-Amz-Signature", "X-Amz-Credential", "X-Goog-Signature", "sig", "auth_key", "app_key", "application_key", "subscription-key", "os_password", "client_secret", "jwt",
	} {
		if !CredentialQuery(name) {
			t.Errorf("%s is passed on", name)
		}
	}
	for _, name := range []string{"pageToken", "page_token", "next_token", "keyword", "sort_key", "author", "max_tokens", "cursor", "design", "authored_by", "primary_key"} {
		if CredentialQuery(name) {
			t.Errorf("%s is dropped", name)
		}
	}
}
