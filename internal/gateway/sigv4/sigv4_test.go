package sigv4

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The vectors are those Amazon publishes: the signature test suite (service
// "service", 2015-08-30), the example of the IAM user guide, and the examples
// of the S3 interface reference (bucket examplebucket, 2013-05-24). The suite's
// vectors with raw bytes in the path do not apply: a path is escaped here.
func TestPublishedVectors(t *testing.T) {
	suite, err := ParseCredential("AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
	if err != nil {
		t.Fatal(err)
	}
	s3, err := ParseCredential("AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
	if err != nil {
		t.Fatal(err)
	}
	suiteTime, s3Time := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC), time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	service, iam, bucket := Scope{"us-east-1", "service"}, Scope{"us-east-1", "iam"}, Scope{"us-east-1", "s3"}
	const host, bucketHost = "https://example.amazonaws.com", "https://examplebucket.s3.amazonaws.com"
	for name, v := range map[string]struct {
		method, url, body string
		header            string
		c                 Credential
		s                 Scope
		at                time.Time
		want              string
	}{
		"get-vanilla":                      {"GET", host + "/", "", "", suite, service, suiteTime, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"get-vanilla-query-order-key-case": {"GET", host + "/?Param2=value2&Param1=value1", "", "", suite, service, suiteTime, "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		"get-vanilla-empty-query-key":      {"GET", host + "/?Param1=value1", "", "", suite, service, suiteTime, "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
		"post-vanilla":                     {"POST", host + "/", "", "", suite, service, suiteTime, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"post-x-www-form-urlencoded":       {"POST", host + "/", "Param1=value1", "application/x-www-form-urlencoded", suite, service, suiteTime, "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
		"IAM ListUsers":                    {"GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "", "application/x-www-form-urlencoded; charset=utf-8", suite, iam, suiteTime, "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
		"S3 GET bucket lifecycle":          {"GET", bucketHost + "/?lifecycle", "", "", s3, bucket, s3Time, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		"S3 list objects":                  {"GET", bucketHost + "/?max-keys=2&prefix=J", "", "", s3, bucket, s3Time, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		r, err := http.NewRequest(v.method, v.url, strings.NewReader(v.body))
		if err != nil {
			t.Fatal(err)
		}
		if v.header != "" {
			r.Header.Set("Content-Type", v.header)
		}
		Sign(r, []byte(v.body), v.c, v.s, v.at)
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+v.want) {
			t.Errorf("%s: %s, want %s", name, got, v.want)
		}
	}
}

func TestBodyPathAndTokenAreSigned(t *testing.T) {
	sign := func(path, body, credential string) string {
		c, err := ParseCredential(credential)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: "PUT", Host: "h", URL: &url.URL{Scheme: "https", Host: "h", Path: path}, Header: http.Header{}}
		Sign(r, []byte(body), c, Scope{"r", "s3"}, time.Unix(0, 0))
		return r.Header.Get("Authorization")
	}
	one := sign("/a", "x", "id:secret123")
	for name, other := range map[string]string{
		"a body": sign("/a", "y", "id:secret123"), "a path": sign("/b", "x", "id:secret123"), "a session": sign("/a", "x", "id:secret123:token"),
	} {
		if one == other {
			t.Errorf("another %s has the same signature", name)
		}
	}
	if strings.Contains(one, "secret123") {
		t.Error("the secret is sent")
	}
	if got := sign("/a", "x", "id:secret123:token"); !strings.Contains(got, "x-amz-security-token") {
		t.Errorf("the session token is not signed: %s", got)
	}
	for _, bad := range []string{"", "id", "id:", ":secret", "a:b:c:d"} {
		if _, err := ParseCredential(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
