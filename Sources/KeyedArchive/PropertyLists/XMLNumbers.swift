/// Reals and dates as property lists in XML write them.
enum XMLNumbers {
    /// A real, which may be infinite or NaN.
    static func real(_ text: String) -> Double? {
        switch text.lowercased() {
        case "nan": return .nan
        case "inf", "infinity", "+inf", "+infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        default:
            guard let first = text.utf8.first, (48...57).contains(first) || first == 43 || first == 45 || first == 46
            else { return nil }
            return Double(text)
        }
    }

    /// The text of a real; `real` converts it back to the same bits, except for NaN.
    static func text(_ value: Double) -> String {
        if value.isNaN { return "nan" }
        if value.isInfinite { return value < 0 ? "-infinity" : "+infinity" }
        return value.description
    }

    /// Seconds from 1970 to the first moment of 2001.
    private static let epoch = 978_307_200

    /// Seconds since 2001 of a date such as 2026-11-21T12:20:00Z.
    static func date(_ text: String) -> Double? {
        var numbers: [Int] = []
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest = rest.dropFirst() }
        for separator in [UInt8(ascii: "-"), UInt8(ascii: "-"), UInt8(ascii: "T"), 58, 58, UInt8(ascii: "Z")] {
            let digits = rest.prefix { (48...57).contains($0) }
            guard (1...9).contains(digits.count), let number = Int(Substring(digits)) else { return nil }
            numbers.append(number)
            rest = rest.dropFirst(digits.count)
            guard rest.first == separator else { return nil }
            rest = rest.dropFirst()
        }
        guard rest.isEmpty, (1...12).contains(numbers[1]), (1...31).contains(numbers[2]), numbers[3] < 25,
            numbers[4] < 60, numbers[5] < 62
        else { return nil }
        let days = days(year: isNegative ? -numbers[0] : numbers[0], month: numbers[1], day: numbers[2])
        return Double(days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5] - epoch)
    }

    /// The date at whole seconds since 2001; nil if its year does not have four digits.
    static func text(date seconds: Double) -> String? {
        guard abs(seconds) < 1e12 else { return nil }
        let total = Int(seconds.rounded(.down)) + epoch
        let day = total >= 0 ? total / 86_400 : (total - 86_399) / 86_400
        let time = total - day * 86_400
        let (year, month, number) = civil(day)
        guard (0...9999).contains(year) else { return nil }
        func pad(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(number, 2))"
            + "T\(pad(time / 3600, 2)):\(pad(time / 60 % 60, 2)):\(pad(time % 60, 2))Z"
    }

    // Years begin in March here, so that the leap day comes last.

    private static func days(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let civilMonth = month < 10 ? month + 3 : month - 9
        return (yearOfEra + era * 400 + (civilMonth <= 2 ? 1 : 0), civilMonth, dayOfYear - (153 * month + 2) / 5 + 1)
    }
}
