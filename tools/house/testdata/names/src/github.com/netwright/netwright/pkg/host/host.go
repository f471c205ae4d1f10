package host

import (
	_ "reflect" // want `import of reflect`
)
