package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
)

// The forms of data, as --output names them.
const (
	FormText = "text"
	FormJSON = "json"
	FormYAML = "yaml"
)

// Output is where a command reads and writes, and in which form: data on Out, all else on Err.
type Output struct {
	In       io.Reader
	Out, Err io.Writer
	Form     string // of data
	Printed  bool   // data for a program was printed
}

// printer is an Out that keeps its first error, so that no command need look after each line
// whether it was printed.
type printer struct {
	to  io.Writer
	err error
}

func (p *printer) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// Checked is the output with an Out of which [Output.Lost] knows.
func (o Output) Checked() Output {
	o.Out = &printer{to: o.Out}
	return o
}

// Lost is the error of the first write to Out that failed: what was printed is not whole. It is nil
// where all was printed, and where who reads it went away, which is his own choice.
func (o *Output) Lost() error {
	if p, is := o.Out.(*printer); is && p.err != nil && !errors.Is(p.err, unix.EPIPE) {
		return fmt.Errorf("print: %w", p.err)
	}
	return nil
}

// Check says whether there is such a form.
func (o *Output) Check() error {
	if all := []string{FormText, FormJSON, FormYAML}; !slices.Contains(all, o.Form) {
		return problem.Usage.Errorf("--output %q: expected one of %s", o.Form, strings.Join(all, ", "))
	}
	return nil
}

// Text says that a person reads what is printed.
func (o *Output) Text() bool { return o.Form == FormText }

// Data prints a value for a program: the fields are those of its JSON form, also as YAML.
func (o *Output) Data(v any) error {
	o.Printed = true
	if o.Form == FormYAML {
		return report.YAML(o.Out, v)
	}
	return report.JSON(o.Out, v)
}

// Plan prints a plan in the form that was asked for, with colour where there is a terminal.
func (o *Output) Plan(p *report.Plan, opt report.TextOptions) error {
	if !o.Text() {
		return o.Data(p)
	}
	opt.Color = IsTerminal(o.Out)
	return report.Text(o.Out, p, opt)
}

// IsTerminal says whether a stream is one, so that colour and progress make sense.
func IsTerminal(stream any) bool {
	f, ok := fileOf(stream)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" &&
		!strings.EqualFold(os.Getenv("TERM"), "dumb")
}

// Width is how many columns a terminal has; 0 where the stream is none.
func Width(stream any) int {
	if f, ok := fileOf(stream); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

func fileOf(stream any) (*os.File, bool) {
	if p, is := stream.(*printer); is {
		stream = p.to
	}
	f, ok := stream.(*os.File)
	return f, ok
}
