import Foundation
import KeyedArchive

/// The settings of a program.
final class Preferences: ObjectCoding {
    /// Nil for none.
    var area: String? = "008"
    var lhour = 2
    /// Nil for any time; `primeTimeTo`, too.
    var primeTimeFrom: String? = "19:00"
    var primeTimeTo: String? = "23:00"
    /// The search history, latest first.
    private(set) var keywordHistory: [String] = []
    /// The user's order of the views; nil for the default order.
    var orderOfViewControllers: [String]?
    /// New in version 1.
    var channelsPerPage = 12

    /// The maximum length of the history.
    static let historyRoom = 10

    static var className: String { "Settings" }
    static var classVersion: Int { 1 }

    /// The defaults.
    init() {}

    /// Keys that the file lacks have their defaults: `channelsPerPage` in files of version 0, and others that a program
    /// left out.
    ///
    /// A stored nil is a choice, so it is kept. Unknown keys of a newer file are
    /// ignored.
    init(coder: ObjectDecoder) throws {
        if coder.contains("area") { area = try coder.decode(String?.self, forKey: "area") }
        if coder.contains("lhour") { lhour = try coder.decode(Int.self, forKey: "lhour") }
        if coder.contains("primeTimeFrom") { primeTimeFrom = try coder.decode(String?.self, forKey: "primeTimeFrom") }
        if coder.contains("primeTimeTo") { primeTimeTo = try coder.decode(String?.self, forKey: "primeTimeTo") }
        keywordHistory = try coder.decodeIfPresent([String].self, forKey: "keywordHistory") ?? []
        orderOfViewControllers = try coder.decodeIfPresent([String].self, forKey: "orderOfViewControllers")
        if coder.contains("channelsPerPage") {
            channelsPerPage = try coder.decode(Int.self, forKey: "channelsPerPage")
        }
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(area, forKey: "area")
        try coder.encode(lhour, forKey: "lhour")
        try coder.encode(primeTimeFrom, forKey: "primeTimeFrom")
        try coder.encode(primeTimeTo, forKey: "primeTimeTo")
        try coder.encode(keywordHistory, forKey: "keywordHistory")
        try coder.encode(orderOfViewControllers, forKey: "orderOfViewControllers")
        try coder.encode(channelsPerPage, forKey: "channelsPerPage")
    }

    /// Adds a word at the front of the history, which contains each word once and drops the oldest.
    func noteSearch(_ word: String) {
        keywordHistory.removeAll { $0 == word }
        keywordHistory.insert(word, at: 0)
        keywordHistory.removeLast(max(0, keywordHistory.count - Self.historyRoom))
    }
}

extension Preferences: CustomStringConvertible {
    var description: String {
        """
        area: \(area ?? "not set")
        lhour: \(lhour)
        primeTimeFrom: \(primeTimeFrom ?? "not set")
        primeTimeTo: \(primeTimeTo ?? "not set")
        keywordHistory: \(keywordHistory.isEmpty ? "empty" : keywordHistory.joined(separator: ", "))
        orderOfViewControllers: \(orderOfViewControllers?.joined(separator: ", ") ?? "not set")
        channelsPerPage: \(channelsPerPage)
        """
    }
}
