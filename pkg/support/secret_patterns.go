package support

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/lazyregexp"
)

// pattern matches a text that looks like a secret. find has three groups: the text before the
// secret, the secret, and the text behind it.
type pattern struct {
	hints    []string // in lower case; find runs only on lines with one of them, which is a hundred times faster
	find     func() *regexp.Regexp
	harmless func(before, secret string) bool // reports that a match is no secret; may be nil
}

func (p *pattern) hinted(lower []byte) bool {
	return slices.ContainsFunc(p.hints, func(hint string) bool { return bytes.Contains(lower, []byte(hint)) })
}

func (p *pattern) replace(r *Redactor, text []byte) (out []byte, count int) {
	find := p.find()
	out = find.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := find.FindSubmatch(found)
		secret := string(parts[2])
		if strings.HasPrefix(strings.Trim(secret, `"'\`), "[redacted ") ||
			p.harmless != nil && p.harmless(string(parts[1]), secret) {
			return found
		}
		count++
		return []byte(string(parts[1]) + r.mark(secret) + string(parts[3]))
	})
	return out, count
}

// keys matches private keys, in PEM or on one line in JSON.
var keys = pattern{find: lazyregexp.New(`(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----)(.*?)(-----END|\z)`)}

const names = `(?:pass(?:word|wd|phrase)|secret|token|credential|authorization|signature|cookie|` +
	`(?:api|access|account|private|pre-?shared|shared)[_-]?key|client-key-data|psk)`

var nameHints = []string{"pass", "secret", "token", "credential", "authorization", "signature", "key", "psk", "cookie"}

// indentation are the characters before the text of a YAML line, also in a diff.
const indentation = " \t+-"

// blockOfSecret matches a YAML line with the key of a secret whose value is a block of lines.
// https://yaml.org/spec/1.2.2/#81-block-scalar-styles
var blockOfSecret = lazyregexp.New(`(?im)` + names + `[\w.-]*["']?:[ \t]*[|>][0-9+-]*\s*(?:#.*)?$`)

// patterns are matched against each line.
var patterns = []pattern{
	{[]string{"bearer", "basic"},
		lazyregexp.New(`(?i)(\bbearer\s+|authorization["']?\s*[:=]\s*["']?basic\s+)([A-Za-z0-9._~+/=-]{8,})()`), nil},
	// https://www.rfc-editor.org/rfc/rfc7519
	{[]string{"eyj"}, lazyregexp.New(`()(\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)()`), nil},
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
	{[]string{"akia", "asia"}, lazyregexp.New(`()(\b(?:AKIA|ASIA)[0-9A-Z]{16}\b)()`), nil},
	// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
	{[]string{"."}, lazyregexp.New(`()(\b[a-z0-9]{6}\.[a-z0-9]{16}\b)()`), nil},
	// https://jedisct1.github.io/minisign/#secret-key-format
	{[]string{"rw"}, lazyregexp.New(`()(\bRW[A-Za-z0-9+/]{100,}={0,2})()`), nil},
	// https://docs.docker.com/reference/cli/docker/login/: user and password in base64, which the
	// registries of containerd use too
	{[]string{"auth"},
		lazyregexp.New(`(?i)((?:^|[^\w.-])auth\\*["']?[ \t]*[:=][ \t]*\\*["']?)([A-Za-z0-9+/]{8,}={0,2})()`), nil},
	// user and password in a URL; the password ends at the last @
	{[]string{"@"}, lazyregexp.New(`(://)([^/\s"']+)(@)`), nil},
	// the query of a URL, which may be a signature with any parameter name
	{[]string{"://"}, lazyregexp.New(`(?i)(\b[a-z][a-z0-9+.-]*://[^\s"'?]*\?)` +
		`((?:\[redacted [0-9a-f]+\]|[^\s"'#\\])+(?:\\+u0026[^\s"'#\\]+)*)()`), noSignature},
	// https://learn.microsoft.com/en-us/rest/api/storageservices/create-service-sas
	{[]string{"sig="}, lazyregexp.New(`([?&]sig=)([^\s&"']+)()`), nil},
	{nameHints, lazyregexp.New(`(?i)(--[a-z0-9-]*` + names + `[a-z0-9-]*\s+)([^\s"'-][^\s"']*)()`), harmless},
	{nameHints, lazyregexp.New(`(?i)(\\*["']?[\w.-]*` + names +
		`[\w.-]*\\*["']?[ \t]*[:=][ \t]*)(\\+"[^"\\\n]*\\+"|"(?:[^"\\\n]|\\[^\n])*"|'[^'\n]*'|[^\s,;&}\]"']+)()`),
		harmless},
}

// noSignature reports whether a query is no secret: that of an s3:// URL, which says where a bucket
// is, or one that is redacted already.
func noSignature(before, query string) bool {
	return strings.HasPrefix(strings.ToLower(before), "s3://") || strings.HasPrefix(query, "[redacted") ||
		strings.Trim(query, "*…:;,.)") == ""
}

// harmless reports whether a value is no secret, although its name looks like one of a secret: a
// boolean, an empty value, the path of a file with the secret, a structure.
func harmless(before, value string) bool {
	name := strings.ToLower(strings.Trim(before, " \t:=\"'\\"))
	if strings.HasSuffix(name, "file") || strings.HasSuffix(name, "path") || strings.HasSuffix(name, "dir") {
		return true
	}
	switch value = strings.ToLower(strings.Trim(value, `"'\`)); value {
	case "", "true", "false", "null", "none", "secret", "another secret", "{", "[", "|", "|-", "|+", ">", ">-", ">+":
		return true
	}
	return strings.HasPrefix(value, "[redacted")
}
