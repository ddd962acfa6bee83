import DistantObjects
import SyntaxServiceValues

/// What has come of a question about a file.
enum Answer: Sendable, Equatable {
    case outline([Declaration])
    case lost(Loss)
}

/// Why a question has no answer.
enum Loss: Sendable, Equatable, CustomStringConvertible {
    /// The helper has died while it read the file.
    case helperDied
    /// The user waits no longer.
    case tookTooLong
    /// What must not happen.
    case other(String)

    init(_ error: any Error) {
        switch (error as? ConnectionError)?.code {
        case .outcomeUnknown: self = .helperDied
        case .deadlineExceeded: self = .tookTooLong
        default: self = .other("\(error)")
        }
    }

    var description: String {
        switch self {
        case .helperDied: "the helper died of it"
        case .tookTooLong: "took too long"
        case .other(let error): error
        }
    }
}
