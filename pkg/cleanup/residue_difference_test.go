package cleanup

import (
	"reflect"
	"testing"
)

// Marks are added up and subtracted list by list. The test gives each list a mark, so that none is
// forgotten.
func TestMarksAreAddedAndTakenByEveryList(t *testing.T) {
	var full Residue
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Bool:
			f.SetBool(true)
		default:
			t.Fatalf("%s is neither a list nor a yes or no: say here what it is", v.Type().Field(i).Name)
		}
	}
	if got := (Residue{}).And(full); !reflect.DeepEqual(got, full) {
		t.Errorf("added to nothing: %+v", got)
	}
	rest := full.Without(full)
	rest.OVS = nil // marks of OVS are never subtracted
	if !reflect.DeepEqual(rest, Residue{}) {
		t.Errorf("taken from itself there is: %+v", rest)
	}
	if got := full.Without(Residue{}); !reflect.DeepEqual(got, full) {
		t.Errorf("without nothing: %+v", got)
	}
	full.OVS = nil
	if got := full.And(full); !reflect.DeepEqual(got, full) {
		t.Errorf("a mark is there twice: %+v", got)
	}
}
