package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/secret"
)

const hidden = "hunter2-hunter2"

// holder has secrets in each place that a struct can have.
type holder struct {
	Name     string
	Token    secret.Text
	Pointer  *secret.Text
	List     []secret.Text
	Map      map[string]secret.Text
	Any      any
	Content  secret.Bytes
	Contents secret.Contents
	private  secret.Text
	deep     struct{ token secret.Text }
}

func filled() holder {
	t := secret.New(hidden)
	h := holder{Name: "n", Token: t, Pointer: &t, List: []secret.Text{t}, Map: map[string]secret.Text{"k": t}, Any: t,
		Content: secret.Bytes(hidden), Contents: secret.Contents{"file": []byte(hidden)}, private: t}
	h.deep.token = t
	return h
}

// forms returns the forms that the text may have in any output.
func forms() []string {
	return []string{hidden, hidden[:7], hex.EncodeToString([]byte(hidden))[:12], strings.ToUpper(hex.EncodeToString([]byte(hidden)))[:12],
		base64.StdEncoding.EncodeToString([]byte(hidden))[:12], "104 117 110", "0x68", "U+0068", "'h'", "68 75 6e"}
}

func conceals(t *testing.T, how, text string) {
	t.Helper()
	for _, form := range forms() {
		if strings.Contains(text, form) {
			t.Errorf("%s shows it: %s", how, text)
			return
		}
	}
}

func TestNothingFormatsASecret(t *testing.T) {
	h := filled()
	values := map[string]any{"text": h.Token, "pointer": h.Pointer, "list": h.List, "map": h.Map, "bytes": h.Content, "contents": h.Contents, "struct": h, "to struct": &h,
		"in any": []any{h.Token, h.Content}, "array": [1]secret.Text{h.Token}}
	for name, v := range values {
		for _, verb := range "vsqxXdTtbcoOUeEfFgG!" { // the last is no verb; vet refuses %p for what is no pointer
			for _, flags := range []string{"", "+", "#", "-20", "020", ".3", "+#", " "} {
				format := "%" + flags + string(verb)
				conceals(t, format+" of "+name, fmt.Sprintf(format, v))
			}
		}
		conceals(t, "Sprint of "+name, fmt.Sprint(v))
		conceals(t, "an error of "+name, fmt.Errorf("read: %w", errors.New(fmt.Sprint("x", v))).Error())
	}
}

func TestNothingEncodesASecret(t *testing.T) {
	h := filled()
	for name, v := range map[string]any{"text": h.Token, "map": h.Map, "struct": h, "to struct": &h, "bytes": h.Content, "contents": h.Contents} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Error(name, err)
		}
		conceals(t, "JSON of "+name, string(text))
		if text, err = yaml.Marshal(v); err != nil {
			t.Error(name, err)
		}
		conceals(t, "YAML of "+name, string(text))
		text, _ = xml.Marshal(v) // for a map this is an error
		conceals(t, "XML of "+name, string(text))
	}
	var out bytes.Buffer
	_ = gob.NewEncoder(&out).Encode(h.Token)
	conceals(t, "gob", out.String())
}

func TestNothingLogsASecret(t *testing.T) {
	h := filled()
	for name, encoder := range map[string]func(zapcore.EncoderConfig) zapcore.Encoder{"JSON": zapcore.NewJSONEncoder, "console": zapcore.NewConsoleEncoder} {
		var out bytes.Buffer
		log := zap.New(zapcore.NewCore(encoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&out), zap.DebugLevel))
		log.Info("a", zap.Any("text", h.Token), zap.Any("pointer", h.Pointer), zap.Any("list", h.List), zap.Any("map", h.Map), zap.Any("struct", h), zap.Any("to", &h),
			zap.Any("bytes", h.Content), zap.Any("contents", h.Contents))
		log.Info("b", zap.Stringer("text", h.Token), zap.Reflect("struct", h), zap.Stringers("list", h.List), zap.Error(fmt.Errorf("with %v", h)))
		log.Sugar().Infow("c", "token", h.Token, "holder", h)
		log.Sugar().Infof("%+v %#v %s", h, h.Token, h.Content)
		conceals(t, "zap as "+name, out.String())
		if n := strings.Count(out.String(), secret.Mark); n < 10 {
			t.Errorf("%s: the mark stands %d times: %s", name, n, out.String())
		}
	}
}

func TestRevealed(t *testing.T) {
	text := secret.New(hidden)
	if text.Reveal() != hidden || secret.Of([]byte(hidden)).Reveal() != hidden || !text.Equal(secret.New(hidden)) || text.Equal(secret.New("x")) || text.IsZero() {
		t.Error("it is not what it was made of")
	}
	none := secret.New("")
	if !none.IsZero() || none.Reveal() != "" || none.String() != "" || !none.Equal(secret.Text{}) {
		t.Error("none is some")
	}
}

func TestReadFromADocument(t *testing.T) {
	type document struct {
		Key  secret.Text `json:"key" yaml:"key"`
		None secret.Text `json:"none" yaml:"none"`
	}
	var have, other document
	if err := json.Unmarshal([]byte(`{"key":"`+hidden+`"}`), &have); err != nil || have.Key.Reveal() != hidden || !have.None.IsZero() {
		t.Errorf("read from JSON: %q, %v; want %q", have.Key.Reveal(), err, hidden)
	}
	if err := yaml.Unmarshal([]byte("key: "+hidden+"\n"), &other); err != nil || other.Key.Reveal() != hidden || !other.None.IsZero() {
		t.Errorf("read from YAML: %q, %v; want %q", other.Key.Reveal(), err, hidden)
	}
	if err := json.Unmarshal([]byte(`{"key":"[secret]"}`), &have); err == nil {
		t.Error("a mark was taken for a secret")
	}
	var content struct{ B, None secret.Bytes }
	if err := json.Unmarshal([]byte(`{"B":"aGk=","None":null}`), &content); err != nil || string(content.B) != "hi" || content.None != nil {
		t.Errorf("bytes from JSON: %q, %v; want \"hi\"", content.B, err)
	}
}
