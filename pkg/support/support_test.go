package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"
)

func redactor(t *testing.T) *Redactor {
	t.Helper()
	r, err := NewRedactor()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each secret contains S, so the test finds any part of one.
func TestWhatLooksLikeASecret(t *testing.T) {
	for _, text := range []string{
		"-----BEGIN EC PRIVATE KEY-----\nS3CRETS3CRET\n-----END EC PRIVATE KEY-----",
		`{"key": "-----BEGIN PRIVATE KEY-----\nS3CRET\nS3CRET\n-----END PRIVATE KEY-----\n"}`,
		"-----BEGIN RSA PRIVATE KEY-----\nS3CRET cut off",
		"Authorization: Bearer S3CRETS3CRET", `Authorization: "Basic S3CRETS3CRET="`, "password=S3CRET", `"password": "a \"S3CRET\" b"`, `\"password\": \"S3CRET\"`,
		"AWS_SECRET_ACCESS_KEY=S3CRET/a+b", "token: 'S3CRET x'", "--token S3CRET --other x", "--bootstrap-token=S3CRET", "client-key-data: S3CRET",
		"https://user:S3CRET@example.com/x", "https://S3CRET@example.com/", "https://user:S3@S3CRET@example.com/x", "GET /x?X-Amz-Signature=S3CRET&a=b", "get https://example.com/x?sv=1&sig=S3CRET%3D&se=S3CRET: 403", `["https://example.com/x?Policy=S3CRET\u0026Expires=S3CRET"]`, `{"a": "\"https://example.com/x?Policy=S3CRET\\u0026Expires=S3CRET\""}`, "HTTPS://example.com?S3CRET", "db_passphrase = S3CRET",
		"Environment=API_KEY=S3CRET", "psk=S3CRET", "PresharedKey=S3CRETS3CRET", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=S3CRETS3CRET==;EndpointSuffix=y",
		"https://x.blob.core.windows.net/a?sv=1&sig=S3CRETS3CRET%3D&se=2", `{"auths": {"registry.example.com": {"auth": "S3CRETS3CRET=="}}}`, `auth = "S3CRETS3CRET"`, "Cookie: session=S3CRET",
		"+  password: |\n+    S3CRET\n+\n+    S3CRET too\n   name: x", "- token: >- # folded\n    S3CRET\n",
	} {
		out, n := redactor(t).Redact([]byte(text))
		if strings.Contains(string(out), "S3CRET") || n == 0 {
			t.Errorf("%s\nbecomes %s", text, out)
		}
	}
	for _, text := range []string{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "AKIAIOSFODNN7EXAMPLE", "abcdef.0123456789abcdef", "RWRTY0Iy" + strings.Repeat("A", 200)} {
		if out, n := redactor(t).Redact([]byte("see " + text + " here")); strings.Contains(string(out), text) || n != 1 {
			t.Errorf("%s becomes %s", text, out)
		}
	}
}

// What a support archive is read for stays in it.
func TestWhatIsNoSecret(t *testing.T) {
	for _, text := range []string{
		"storeTokenFile: /etc/netwright/token", `"secret": true`, "--tls-private-key-file=/etc/key", "generation 7, sha256 aaaa", "1: lo: <LOOPBACK,UP> mtu 65536",
		"file:/etc/secret/x changed", "basic networking works", "sysctl:net.ipv4.conf.all.rp_filter", "10.0.0.1:6443", "ip nat { type nat hook postrouting priority srcnat; }",
		"see https://example.com/a@b", "auth: true", "authoritative = answers", "secrets: |-\nname: not within\n", "description: |\n  many words\n",
		"store: s3://bucket/prefix?region=eu-west-1&endpoint=https://s3.example.com", "get asset https://example.com/x?…: 403", "https://example.com/x?[redacted 1a2b3c4d]",
	} {
		if out, n := redactor(t).Redact([]byte(text)); string(out) != text || n != 0 {
			t.Errorf("%s\nbecomes %s", text, out)
		}
	}
}

// A known secret is removed wherever it is, and the same secret has the same mark.
func TestKnownSecrets(t *testing.T) {
	r := redactor(t)
	r.AddText("user = admin7\nline of a file\npass: \"qu\\oted\"\n-----BEGIN x-----\n")
	r.Add("abc")
	r.Add("long-secret-and-more")
	r.Add("long-secret")
	text := `x line of a file y; admin7; bG9uZy1zZWNyZXQ=; abc; long-secret-and-more; long-secret; again long-secret; {"a": "line of a file"}`
	out, n := r.Redact([]byte(text))
	for _, gone := range []string{"line of", "admin7", "bG9u", "long-secret"} {
		if strings.Contains(string(out), gone) {
			t.Errorf("%s is left in %s", gone, out)
		}
	}
	if n != 7 || !strings.Contains(string(out), "; abc;") {
		t.Errorf("%d were taken out: %s", n, out)
	}
	again, m := r.Redact(out)
	if string(again) != string(out) || m != 0 {
		t.Errorf("twice is not as once: %s", again)
	}
	marks := strings.Split(string(out), "; ")
	if marks[5] != strings.TrimPrefix(marks[6], "again ") || marks[4] == marks[5] {
		t.Errorf("the marks are %v", marks)
	}
}

func TestGather(t *testing.T) {
	stuck := make(chan bool)
	defer close(stuck)
	r := redactor(t)
	r.Add("hunter22")
	pieces := []Piece{
		{Name: "a/good.txt", Get: func(context.Context) ([]byte, error) { return []byte("all hunter22 well"), nil }},
		{Name: "half.txt", Get: func(context.Context) ([]byte, error) { return []byte("half"), errors.New("hunter22 failed") }},
		{Name: "stuck.txt", Limit: time.Millisecond, Get: func(context.Context) ([]byte, error) { <-stuck; return nil, nil }},
		{Name: "panic.txt", Get: func(context.Context) ([]byte, error) { panic("hunter22") }},
		{Name: "big.txt", Get: func(context.Context) ([]byte, error) {
			return append(bytes.Repeat([]byte("x"), PieceSize), "hunter22 the end"...), nil
		}},
	}
	m := Manifest{At: time.Unix(1e9, 0), Node: "node-1"}
	archive, err := Gather(t.Context(), "dir", &m, pieces, r)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for files := tar.NewReader(zip); ; {
		head, err := files.Next()
		if err == io.EOF {
			break
		}
		text, readErr := io.ReadAll(files)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "hunter22") || head.Mode != 0o600 {
			t.Errorf("%s has mode %o: %.200s", head.Name, head.Mode, text)
		}
		got[head.Name] = string(text)
	}
	if len(got) != 4 || !strings.Contains(got["dir/manifest.json"], "it did not end within 1ms") || got["dir/half.txt"] != "half" || !strings.HasSuffix(got["dir/big.txt"], " the end") {
		t.Errorf("in it: %.300v", got)
	}
	for i, want := range []string{"", "failed", "did not end", "panic: [redacted", ""} {
		if e := m.Pieces[i]; (e.Error == "") != (want == "") || !strings.Contains(e.Error, want) {
			t.Errorf("%s: %q, want %q", e.Name, e.Error, want)
		}
	}
	if e := m.Pieces[4]; e.Cut == 0 || e.Bytes != PieceSize || e.Redacted != 1 {
		t.Errorf("the big one is %+v", e)
	}
}

// A secret is found within any text in base64, except for two bytes at each end, and in a URL.
func TestKnownSecretsAreFoundEncoded(t *testing.T) {
	const secret = "p&ss?word~Zurich+1"
	r := redactor(t)
	r.Add(secret)
	for _, before := range []string{"", "u", "us", "user:"} {
		for _, after := range []string{"", "\n", "\n\n", "@host"} {
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
				out, _ := r.Redact([]byte(encoding.EncodeToString([]byte(before + secret + after))))
				left, _, _ := strings.Cut(string(out), "[redacted ")
				_, right, found := strings.Cut(string(out), "]")
				if !found || len(left) > len(before)+5 || len(right) > len(after)+9 {
					t.Errorf("before %q, after %q, out %s", before, after, out)
				}
			}
		}
	}
	for _, text := range []string{"https://h/?q=" + url.QueryEscape(secret), "https://h/" + url.PathEscape(secret), `{"a":"p\u0026ss?word~Zurich+1"}`} {
		if out, n := r.Redact([]byte(text)); n == 0 || strings.Contains(string(out), "Zurich") {
			t.Errorf("%s becomes %s", text, out)
		}
	}
}
