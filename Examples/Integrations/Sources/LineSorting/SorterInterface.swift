public import DistantObjects

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a sorter can be asked, in the worker and in the service that has the worker.
public struct SorterInterface: Interface {
    /// The signatures.
    public init() {}
    /// Sorts the lines of a text.
    public let sort = Signature<Data, Data>("sort", idempotent: true)
    /// Sorts the lines of a file.
    public let sortFile = Signature<Data, String>("sortFile", idempotent: true)
    /// The errors that callers can catch.
    public static var errors: [any (Error & Codable).Type] { [SortingError.self] }
}

/// Why a text was not sorted.
public enum SortingError: Error, Codable {
    /// The file cannot be read.
    case unreadable(String)
}

extension Data {
    /// The lines in the order of their bytes, each with a line feed.
    public var withSortedLines: Data {
        split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)
            .sorted { $0.lexicographicallyPrecedes($1) }
            .reduce(into: Data()) { text, line in
                text += line
                text.append(UInt8(ascii: "\n"))
            }
    }
}
