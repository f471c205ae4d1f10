package x

import _ "reflect"
