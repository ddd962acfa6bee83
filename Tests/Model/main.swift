// An exhaustive check of the release rule. It visits every state that two parties can reach within the bounds of
// `Bound` by the steps of `Machine`. In each state,
//   - a message reaches exactly the object that its sender meant;
//   - no object is freed while a message in transit mentions it, or while the other side has it pinned or has a proxy;
//   - no slot is reused while its former object is still referred to;
//   - everything that is held will be released: at rest, without proxies, both tables are empty;
//   - after the end the tables are empty, and stay empty.
// Each variant leaves out or changes one part of the rule. The search must find a fault in it, which shows that the
// check works. `Doorbell` checks the wake-ups of shared memory, `Credits` the credit of messages, `Promises` the messages
// to answers, `Streams` the credit and the ends of streams, and `Nesting` the calls of methods that serve calls.
// The exit status is 0 if every verdict is the expected one.

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

let clock = ContinuousClock()
var failures = 0

@MainActor
func report(
    _ name: String, expected: Verdict, _ search: () -> (states: Int, verdict: Verdict, trace: [String])
) {
    let start = clock.now
    let result = search()
    let isExpected = result.verdict == expected
    if !isExpected { failures += 1 }
    let milliseconds = (clock.now - start) / .milliseconds(1)
    var line = padded(name, to: 46) + padded("states=\(result.states)", to: 17) + result.verdict.rawValue
    if !isExpected { line += "  WRONG: expected \(expected.rawValue)" }
    line += "  (\(Int(milliseconds)) ms)"
    if !result.trace.isEmpty { line += "  " + result.trace.joined(separator: "; ") }
    print(line)
}

for variant in Variant.allCases {
    report(variant.rawValue, expected: variant.expected) {
        var search = Search(variant)
        let result = search.run()
        return (result.states, result.verdict, result.trace)
    }
}
for variant in Doorbell.Variant.allCases {
    report(variant.rawValue, expected: variant.expected) {
        let result = Doorbell.check(variant, messages: 3)
        return (result.states, result.verdict, [])
    }
}
for variant in Credits.Variant.allCases {
    report(variant.rawValue, expected: variant.expected) {
        let result = Credits(variant: variant, messages: 2).check()
        return (result.states, result.verdict, [])
    }
}
for variant in Promises.Variant.allCases {
    report(variant.rawValue, expected: variant.expected) {
        let result = Promises.check(variant)
        return (result.states, result.verdict, [])
    }
}
for variant in Streams.Variant.allCases {
    report(variant.rawValue, expected: variant.expected) {
        let result = Streams(variant: variant, streams: 2).check()
        return (result.states, result.verdict, [])
    }
}
for variant in Nesting.Variant.allCases {
    report(variant.rawValue, expected: variant.expected) {
        let result = Nesting.check(variant)
        return (result.states, result.verdict, [])
    }
}
if failures > 0 {
    print("\(failures) verdicts are not the expected ones")
}
exit(failures == 0 ? 0 : 1)
