package flow_test

import (
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
)

func TestW32_WhatCanBeSeen(t *testing.T) {
	for _, s := range []string{"", " \t\r\n", "\u00a0\u2003\u3000\u1680", "\u200b\u200c\u200d\u2060\ufeff", "\u00ad\u061c\u180e", "\u202e\u2066\u2069",
		"\u115f\u1160\u3164\uffa0", "\u034f\ufe0f\U000e0100", "\U000e0041\U000e007f", "\x00\x1b\u0085", "\u2800", "\u17b4\u2065"} {
		if !flow.Blank(s) {
			t.Errorf("%+q isn't blank", s)
		}
	}
	for _, s := range []string{"x", "\u200b.\u200b", "é", "🙂\ufe0f", "٠", "-", "\u0301", "\ufffd", "\ue000"} {
		if flow.Blank(s) {
			t.Errorf("%+q is blank", s)
		}
	}
}
