package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/report"
)

// The values of --output.
const (
	FormText = "text"
	FormJSON = "json"
	FormYAML = "yaml"
)

// Output is the input and output of a command: data goes to Out, all messages go to Err.
type Output struct {
	In       io.Reader
	Out, Err io.Writer
	Form     string // of the data
	Printed  bool   // data in JSON or YAML was printed
}

// printer is an Out or Err that makes control characters visible. It keeps its first error, so that
// no command need check each line.
type printer struct {
	to  io.Writer
	err error
}

func (p *printer) Write(b []byte) (int, error) {
	_, err := io.WriteString(p.to, report.Visible(string(b)))
	if err == nil {
		return len(b), nil
	}
	p.err = cmp.Or(p.err, err)
	return 0, err
}

// Checked returns the output with an Out and an Err that make control characters visible. Out keeps
// its first error for [Output.Lost].
func (o Output) Checked() Output {
	o.Out, o.Err = &printer{to: o.Out}, &printer{to: o.Err}
	return o
}

// Lost returns the first error of a write to Out: the printed data is not complete. It returns nil
// where all was printed, and where the reader closed the pipe.
func (o *Output) Lost() error {
	if p, is := o.Out.(*printer); is && p.err != nil && !errors.Is(p.err, unix.EPIPE) {
		return fmt.Errorf("print: %w", p.err)
	}
	return nil
}

// Check returns an error for an unknown form.
func (o *Output) Check() error {
	if all := []string{FormText, FormJSON, FormYAML}; !slices.Contains(all, o.Form) {
		return problem.Usage.Errorf("--output %q: expected one of %s", o.Form, strings.Join(all, ", "))
	}
	return nil
}

// Text reports that the output is for a person.
func (o *Output) Text() bool { return o.Form == FormText }

// Data prints a value as JSON or YAML. YAML has the fields of the JSON form.
func (o *Output) Data(v any) error {
	o.Printed = true
	if o.Form == FormYAML {
		return report.YAML(o.Out, v)
	}
	return report.JSON(o.Out, v)
}

// Plan prints a plan in the form that --output names, with colour on a terminal.
func (o *Output) Plan(p *report.Plan, opt report.TextOptions) error {
	if !o.Text() {
		return o.Data(p)
	}
	opt.Color = IsTerminal(o.Out)
	return report.Text(o.Out, p, opt)
}

// IsTerminal reports whether a stream is a terminal that can show colour and progress.
func IsTerminal(stream any) bool {
	f, ok := fileOf(stream)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" &&
		!strings.EqualFold(os.Getenv("TERM"), "dumb")
}

// Width returns the number of columns of a terminal; 0 where the stream is none.
func Width(stream any) int {
	if f, ok := fileOf(stream); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// ToJournal reports whether a stream is connected to the journal.
func ToJournal(stream any) bool {
	f, ok := fileOf(stream)
	return ok && publish.ToJournal(f, os.Getenv("JOURNAL_STREAM"))
}

func fileOf(stream any) (*os.File, bool) {
	if w, is := stream.(io.Writer); is {
		stream = Exact(w)
	}
	f, ok := stream.(*os.File)
	return f, ok
}

// Exact returns the stream below an Out or Err of [Output.Checked].
func Exact(stream io.Writer) io.Writer {
	if p, is := stream.(*printer); is {
		return p.to
	}
	return stream
}
