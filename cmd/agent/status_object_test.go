package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/test/s3server"
)

// The status object is beside the documents of a real S3 server, and each new one replaces the
// former. A node that may only read there is told which permission is missing, without a secret.
func TestStatusObjectOnS3(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	back, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := false
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(back); r.Out.Host = r.In.Host }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if readOnly && r.Method == http.MethodPut { // as S3 answers a client without the right to write
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
			return
		}
		through.ServeHTTP(w, r)
	}))
	defer front.Close()
	for name, value := range map[string]string{
		"S3_ENDPOINT": front.URL, "S3_REGION": "us-east-1", "S3_ACCESS_KEY_ID": s3server.Access, "S3_SECRET_ACCESS_KEY": s3server.Secret,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "127.0.0.1",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_CA_BUNDLE": "",
	} {
		t.Setenv(name, value)
	}
	o := runOptions{f: &cli.Flags{Settings: cli.Settings{AgentFile: agentfile.AgentFile{Store: "s3://fleet/some/prefix", Cluster: "demo.example.com",
		StatusObject: agentfile.On}}}}
	put, err := o.statusWriter(&cli.Opened{Select: config.Select{Node: "node-1"}})
	if err != nil {
		t.Fatal(err)
	}
	key := "some/prefix/demo.example.com/status/node-1.json"
	have := func() string {
		t.Helper()
		got, err := server.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("fleet"), Key: aws.String(key)})
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, text := range []string{"{\"state\":\"starting\"}\n", "{\"state\":\"converged\"}\n"} {
		if err := put(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := have(); got != text {
			t.Errorf("there lies %q, want %q", got, text)
		}
	}
	all, err := server.Client().ListObjectsV2(context.WithoutCancel(t.Context()), &s3.ListObjectsV2Input{Bucket: aws.String("fleet")})
	if err != nil || len(all.Contents) != 1 {
		t.Errorf("in the bucket are %d objects, %v", len(all.Contents), err)
	}

	readOnly = true
	err = put(t.Context(), []byte("{}\n"))
	if err == nil || !strings.Contains(err.Error(), "write status/node-1.json of s3://fleet/some/prefix") || strings.Contains(err.Error(), s3server.Secret) {
		t.Errorf("whoever may only read is told: %v", err)
	}
	if got := have(); got != "{\"state\":\"converged\"}\n" {
		t.Errorf("what was there is %q", got)
	}
}
