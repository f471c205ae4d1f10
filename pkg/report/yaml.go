package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/lazyregexp"
)

// YAML writes a value as YAML, with the fields of its JSON form in the same order. It converts the
// JSON form, so what JSON leaves out cannot be in the YAML.
//
// It does not use goccy/go-yaml, with which the agent reads documents. That library changes a text
// that begins with a space or is only a newline, and writes the string .inf as a number.
func YAML(w io.Writer, v any) error {
	var data bytes.Buffer
	if err := JSONLine(&data, v); err != nil {
		return err
	}
	y := &yamlWriter{in: json.NewDecoder(&data)}
	y.in.UseNumber()
	if err := y.value(0, true); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	if _, err := w.Write(y.out.Bytes()); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return nil
}

// yamlWriter converts JSON tokens to YAML's block style.
type yamlWriter struct {
	in  *json.Decoder
	out bytes.Buffer
}

// value writes the next value. The text before it on its line is written already, without a space
// after it. alone says that there is no such text, as after the dash of a list.
func (y *yamlWriter) value(depth int, alone bool) error {
	token, err := y.in.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return y.block(depth, alone, "{}", y.field)
	case json.Delim('['):
		return y.block(depth, alone, "[]", y.element)
	}
	if !alone {
		y.out.WriteByte(' ')
	}
	switch v := token.(type) {
	case string:
		y.text(v, depth)
	case json.Number:
		y.out.WriteString(v.String() + "\n")
	case bool:
		fmt.Fprintln(&y.out, v)
	case nil:
		y.out.WriteString("null\n")
	default:
		return fmt.Errorf("unexpected %v", token)
	}
	return nil
}

// block writes a mapping or a list. entry writes one entry of it.
func (y *yamlWriter) block(depth int, alone bool, empty string, entry func(int) error) error {
	for first := true; y.in.More(); first = false {
		switch {
		case !first:
			y.out.WriteString(strings.Repeat("  ", depth))
		case !alone:
			y.out.WriteString("\n" + strings.Repeat("  ", depth))
		}
		if err := entry(depth); err != nil {
			return err
		}
		empty = ""
	}
	if empty != "" {
		if !alone {
			y.out.WriteByte(' ')
		}
		y.out.WriteString(empty + "\n")
	}
	_, err := y.in.Token() // the closing bracket
	return err
}

func (y *yamlWriter) field(depth int) error {
	token, err := y.in.Token()
	if err != nil {
		return err
	}
	name, ok := token.(string)
	if !ok {
		return errors.New("a field without a name")
	}
	y.out.WriteString(scalar(name) + ":")
	return y.value(depth+1, false)
}

func (y *yamlWriter) element(depth int) error {
	y.out.WriteString("- ")
	return y.value(depth+1, true)
}

// text writes a string: with several lines where each YAML reader can read them, or else on one
// line.
func (y *yamlWriter) text(s string, depth int) {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(body, "\n") || !literal().MatchString(s) {
		y.out.WriteString(scalar(s) + "\n")
		return
	}
	y.out.WriteString("|")
	if body == s {
		y.out.WriteString("-")
	}
	for line := range strings.SplitSeq(body, "\n") {
		y.out.WriteByte('\n')
		if line != "" {
			y.out.WriteString(strings.Repeat("  ", max(depth, 1)) + line)
		}
	}
	y.out.WriteByte('\n')
}

var (
	// literal matches text with several lines that begins and ends with a printable character.
	// https://yaml.org/spec/1.2.2/#812-literal-style
	literal = lazyregexp.New(`^[!-~](?:[\t -~]*\n)*[\t -~]*[!-~]\n?$`)
	// bare matches a string that needs no quotes in any YAML reader.
	// https://yaml.org/spec/1.2.2/#733-plain-style
	bare = lazyregexp.New(`^[A-Za-z/](?:[A-Za-z0-9_./@%+=,()~ -]|:[A-Za-z0-9_./])*$`)
	// yamlReserved are words that YAML 1.1 does not take for strings.
	// https://yaml.org/type/bool.html
	yamlReserved = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}
)

// scalar returns a string on one line, in quotes where it needs them.
func scalar(s string) string {
	if bare().MatchString(s) && !strings.HasSuffix(s, " ") && !slices.Contains(yamlReserved, strings.ToLower(s)) {
		return s
	}
	var quoted bytes.Buffer
	_ = JSONLine(&quoted, s) // a string always has a JSON form
	var b strings.Builder
	for _, r := range strings.TrimSuffix(quoted.String(), "\n") {
		if r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff { // JSON does not escape them
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
