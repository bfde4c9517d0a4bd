#pragma once

#include <string>
#include <vector>

namespace paceline::node {

// Columns of text for a terminal: as wide as their widest cell, two blanks between.
class Table {
 public:
  enum class Align { Left, Right };
  struct Column {
    std::string head;
    Align align = Align::Left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty; more than there are columns is a bug.
  void add(std::vector<std::string> cells);
  // indent: blanks before each line. No blanks at the end of a line.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace paceline::node
