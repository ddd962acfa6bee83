// Rules that a peer can only break once this side has sent something. The tests of the state send it.
extension Check {
    static let states = [
        Check(
            "a stream passed back while it is read",
            "one that has had credit is an error of reason 5, even if it has ended."
        ) { try StreamStateTests().passedBackTooLate(.reading) },
        Check(
            "a stream passed back after its end",
            "one that has had credit is an error of reason 5, even if it has ended."
        ) { try StreamStateTests().passedBackTooLate(.ended) },
        Check(
            "a stream passed back after a credit of nothing", "to which it has given no credit;"
        ) { try StreamStateTests().passedBackTooLate(.creditOfNothing) },
        Check("the result of a promise that is held", "a `Return` of status 0 before it is an error of reason 5,") {
            try StatePromiseReturnTests().returned(.early)
        },
        Check("a promise that is returned with a value", "and one with more in it of reason 1.") {
            try StatePromiseReturnTests().returned(.value)
        },
        Check("a promise that is returned with references", "and one with more in it of reason 1.") {
            try StatePromiseReturnTests().returned(.references)
        },
        Check("a promise that is returned in fragments", "and one with more in it of reason 1.") {
            try StatePromiseReturnTests().returned(.fragments)
        },
        Check("descriptors with another step to shared memory", "as are descriptors with any other frame.") {
            for step: UInt8 in [0, 2, 3, 6] { try StateSharingTests().descriptorsInStateSharing(of: step) }
        },
    ]
}
