package lazyregexp

import "regexp"

func New(expression string) func() *regexp.Regexp { return nil }
