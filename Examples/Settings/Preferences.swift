import Foundation
import KeyedArchive

/// The settings of a program.
final class Preferences: ObjectCoding {
    var area = "008"
    var lhour = 2
    var primeTimeFrom = "19:00"
    var primeTimeTo = "23:00"
    /// What was searched for, the latest first.
    private(set) var keywordHistory: [String] = []
    /// The order somebody has put the views in; nil if nobody has.
    var orderOfViewControllers: [String]?
    /// New in version 1.
    var channelsPerPage = 12

    /// What the history has room for.
    static let historyRoom = 10

    static var className: String { "Settings" }
    static var classVersion: Int { 1 }

    /// The defaults.
    init() {}

    init(coder: ObjectDecoder) throws {
        area = try coder.decode(String.self, forKey: "area")
        lhour = try coder.decode(Int.self, forKey: "lhour")
        primeTimeFrom = try coder.decode(String.self, forKey: "primeTimeFrom")
        primeTimeTo = try coder.decode(String.self, forKey: "primeTimeTo")
        keywordHistory = try coder.decode([String].self, forKey: "keywordHistory")
        orderOfViewControllers = try coder.decodeIfPresent([String].self, forKey: "orderOfViewControllers")
        // A file of version 0 does not have it, and the default holds. A newer file may have more keys, which are not
        // asked for.
        if let count = try coder.decodeIfPresent(Int.self, forKey: "channelsPerPage") { channelsPerPage = count }
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

    /// Puts a word in front of the history, which keeps each word once and forgets the oldest.
    func noteSearch(_ word: String) {
        keywordHistory.removeAll { $0 == word }
        keywordHistory.insert(word, at: 0)
        keywordHistory.removeLast(max(0, keywordHistory.count - Self.historyRoom))
    }
}

extension Preferences: CustomStringConvertible {
    var description: String {
        """
        area: \(area)
        lhour: \(lhour)
        primeTimeFrom: \(primeTimeFrom)
        primeTimeTo: \(primeTimeTo)
        keywordHistory: \(keywordHistory.isEmpty ? "empty" : keywordHistory.joined(separator: ", "))
        orderOfViewControllers: \(orderOfViewControllers?.joined(separator: ", ") ?? "not set")
        channelsPerPage: \(channelsPerPage)
        """
    }
}
