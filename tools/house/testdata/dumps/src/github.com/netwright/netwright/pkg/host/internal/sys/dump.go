package sys

func Dump[T any](what string, list func() (T, error)) (T, error) { return list() }
