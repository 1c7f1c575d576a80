module example.com/mytool

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/aymanbagabas/go-udiff v0.4.2 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	golang.org/x/sys v0.50.0 // indirect
	modernc.org/sqlite v1.61.1 // indirect
	mvdan.cc/sh/v3 v3.14.1 // indirect
)

require (
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/gamma-harness/gamma v0.0.0
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	golang.org/x/text v0.14.0 // indirect
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

replace github.com/gamma-harness/gamma => ../..
