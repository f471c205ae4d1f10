package a

import (
	"errors"
	"fmt"
	"io/fs"
)

type typed struct{}

func (typed) Error() string { return "" }

func bad(err error) {
	_ = fmt.Errorf("read %s: %v", "x", err)            // want `error formatted with %v: use %w; callers ask`
	_ = fmt.Errorf("read: %s", err)                    // want `error formatted with %s`
	_ = fmt.Errorf("100%% of %-*d: %v", 3, 4, typed{}) // want `error formatted with %v`
	_ = fmt.Errorf("read: %s", err.Error())            // want `error formatted with %s`
	_ = errors.New(fmt.Sprintf("read: %s", "x"))       // want `use fmt.Errorf, which can wrap`
	_ = errors.New(err.Error())                        // want `errors.New of another error's text`
	_ = fmt.Errorf("no link: %w", fs.ErrNotExist)      // want `the text ends in "file does not exist": use problem.Missing`
}

func good(err error, format string) {
	_ = fmt.Errorf("read %v: %w", "x", err)
	_ = fmt.Errorf("%T and %w", err, err)
	_ = fmt.Errorf("%[1]d", 1)
	_ = fmt.Errorf("broken %")
	_ = fmt.Errorf(format, err)
	_ = errors.New("plain")
	_ = fmt.Errorf("shown on purpose: %v", err) //nolint:house wrap the caller must not see this one's kind
}
